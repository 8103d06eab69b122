// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.hadoop.hdfs.security.token.block.BlockKey;
import org.apache.hadoop.security.UserGroupInformation;

/** The pools and keys of a datanode, as a test sets them. The datanode has one storage. */
final class FakeKeys implements KeySource {
  static final String STORAGE = "DS-1";

  final Map<String, BlockKeys> pools = new ConcurrentHashMap<>();
  final Map<String, String> askers = new ConcurrentHashMap<>(); // the users of the threads
  volatile Throwable broken;

  static BlockKeys keys(int... ids) {
    return BlockKeys.on(
        Arrays.stream(ids)
            .mapToObj(id -> new BlockKey(id, 1000L * id, new byte[] {(byte) id}))
            .collect(Collectors.toList()));
  }

  @Override
  public Set<String> pools() {
    Throwable failure = broken;
    if (failure != null) {
      throw FakeBackend.<RuntimeException>raise(failure);
    }
    try {
      String user = UserGroupInformation.getCurrentUser().getUserName();
      askers.put(Thread.currentThread().getName(), user);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return pools.keySet();
  }

  @Override
  public Set<String> storages() {
    return Collections.singleton(STORAGE);
  }

  @Override
  public BlockKeys of(String poolId) {
    return pools.get(poolId);
  }
}
