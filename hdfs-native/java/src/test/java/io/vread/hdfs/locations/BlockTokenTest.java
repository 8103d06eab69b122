// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.locations;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Random;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.security.token.block.BlockTokenIdentifier;
import org.apache.hadoop.hdfs.security.token.block.BlockTokenIdentifier.AccessMode;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.token.Token;
import org.junit.Test;

/**
 * {@link BlockToken} with tokens that Hadoop's own classes write, whole, cut short and damaged.
 */
public class BlockTokenTest {
  private static final String[] IDS = {"DS-28d91385-9976-4132-9bd6-c746ad94d7d2", "DS-2", "DS-3"};

  private static final long EXPIRY = 1_795_000_000_000L;

  private static byte[] identifier(boolean protobuf, String... ids) {
    StorageType[] types = new StorageType[ids.length];
    Arrays.fill(types, StorageType.DISK);
    BlockTokenIdentifier identifier =
        new BlockTokenIdentifier(
            "user",
            "BP-1-127.0.0.1-1",
            1073741825L,
            EnumSet.of(AccessMode.READ, AccessMode.COPY),
            types,
            ids,
            protobuf);
    identifier.setExpiryDate(EXPIRY);
    identifier.setKeyId(-123456789);
    return identifier.getBytes();
  }

  private static byte[] token(boolean protobuf, String... ids) throws IOException {
    return written(identifier(protobuf, ids));
  }

  private static byte[] written(byte[] identifier) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    new Token<BlockTokenIdentifier>(
            identifier, new byte[20], new Text("HDFS_BLOCK_TOKEN"), new Text("service"))
        .write(new DataOutputStream(out));
    return out.toByteArray();
  }

  private static String[] parsed(byte[] token) {
    byte[][] ids = BlockToken.of(token).storages();
    String[] result = new String[ids.length];
    for (int i = 0; i < ids.length; i++) {
      result[i] = new String(ids[i], StandardCharsets.UTF_8);
    }
    return result;
  }

  @Test
  public void bothEncodings() throws IOException {
    for (boolean protobuf : new boolean[] {false, true}) {
      assertArrayEquals(IDS, parsed(token(protobuf, IDS)));
      assertArrayEquals(new String[0], parsed(token(protobuf)));
      assertEquals(EXPIRY, BlockToken.of(token(protobuf, IDS)).expiry());
      assertEquals(EXPIRY, BlockToken.of(token(protobuf)).expiry());
      assertTrue(BlockToken.present(token(protobuf)));
    }
  }

  @Test
  public void withoutSecurityTheTokenIsEmpty() throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    new Token<BlockTokenIdentifier>().write(new DataOutputStream(out));
    for (byte[] none : new byte[][] {out.toByteArray(), {}, null}) {
      assertFalse(BlockToken.present(none));
      assertEquals(0, BlockToken.of(none).storages().length);
      assertEquals(Long.MAX_VALUE, BlockToken.of(none).expiry());
    }
  }

  @Test
  public void aTokenThatIsCutShortIsNotParsed() throws IOException {
    for (boolean protobuf : new boolean[] {false, true}) {
      byte[] whole = token(protobuf, IDS);
      for (int length = 1; length < whole.length; length++) {
        BlockToken token = BlockToken.of(Arrays.copyOf(whole, length));
        assertEquals("" + length, 0, token.storages().length);
        assertEquals("" + length, 0, token.expiry());
      }
    }
  }

  /** An identifier ends where an older NameNode wrote less, or anywhere: that must not throw. */
  @Test
  public void anIdentifierThatIsCutShortNamesNoneOrSome() throws IOException {
    for (boolean protobuf : new boolean[] {false, true}) {
      byte[] whole = identifier(protobuf, IDS);
      for (int length = 0; length < whole.length; length++) {
        assertTrue(parsed(written(Arrays.copyOf(whole, length))).length <= IDS.length);
      }
    }
  }

  /** A newer NameNode may know more types of storages. */
  @Test
  public void aStorageTypeThatIsNotKnown() throws IOException {
    String bytes = new String(identifier(false, IDS), StandardCharsets.ISO_8859_1);
    assertTrue(bytes.contains("DISK"));
    byte[] unknown = bytes.replace("DISK", "DUSK").getBytes(StandardCharsets.ISO_8859_1);
    BlockToken token = BlockToken.of(written(unknown));
    assertEquals(0, token.storages().length);
    assertEquals(0, token.expiry());
  }

  /** In the encoding of protobuf, because the older one has lengths that are believed. */
  @Test
  public void anIdentifierThatIsDamagedDoesNotThrow() throws IOException {
    Random random = new Random(20261121);
    for (int round = 0; round < 20_000; round++) {
      byte[] bytes = identifier(true, IDS);
      for (int i = random.nextInt(4); i >= 0; i--) {
        bytes[1 + random.nextInt(bytes.length - 1)] = (byte) random.nextInt();
      }
      BlockToken.of(written(bytes));
    }
  }
}
