// SPDX-License-Identifier: Apache-2.0
package io.vread;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertNotSame;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertTrue;

import org.apache.hadoop.conf.Configuration;
import org.junit.Test;

/** Defaults, valid values and nonsense in {@link Settings}, and one reading per Configuration. */
public class SettingsTest {
  private final Configuration conf = new Configuration(false);

  @Test
  public void defaults() {
    Settings settings = Settings.of(conf);
    assertTrue(settings.enabled);
    assertEquals(2000, settings.timeoutMs);
    assertEquals(4 << 20, settings.poolBytes);
    assertEquals(2 << 20, settings.readaheadBytes);
    assertTrue(settings.compete);
    assertEquals(Protection.AUTHENTICATION, settings.protection);
    assertEquals("", settings.libraryPath);
    assertEquals("", settings.statisticsFile);
  }

  @Test
  public void values() {
    conf.set(Settings.ENABLED, "false");
    conf.set(Settings.ENDPOINT, " /run/vread.sock ");
    conf.set(Settings.POOL_BYTES, "16m");
    conf.set(Settings.READAHEAD_BYTES, "0");
    conf.set(Settings.TIMEOUT_MS, "500");
    Settings settings = Settings.of(conf);
    assertFalse(settings.enabled);
    assertEquals("/run/vread.sock", settings.endpoint);
    assertEquals(16 << 20, settings.poolBytes);
    assertEquals("off", 1, settings.readaheadBytes);
    assertEquals(500, settings.timeoutMs);
  }

  /** Each property by which Hadoop is told to protect bytes counts, and the strongest of a list. */
  @Test
  public void hadoopsOwnWordForProtection() {
    for (String name :
        new String[] {"dfs.data.transfer.protection", "hadoop.rpc.protection"}) {
      assertEquals(name, Protection.PRIVACY, protection(name, "Privacy, integrity"));
      assertEquals(name, Protection.INTEGRITY, protection(name, "authentication, Integrity"));
      assertEquals(name, Protection.AUTHENTICATION, protection(name, "authentication"));
      assertEquals(name, Protection.AUTHENTICATION, protection(name, "none"));
    }
    assertEquals(Protection.PRIVACY, protection("dfs.encrypt.data.transfer", "true"));
    assertEquals(Protection.AUTHENTICATION, protection("dfs.encrypt.data.transfer", "false"));
  }

  /** Hadoop hedges reads only if it has threads for them. */
  @Test
  public void hadoopsOwnWordForHedgedReads() {
    assertTrue(Settings.of(conf).hedgeMs < 0);
    Configuration hedged = new Configuration(false);
    hedged.set("dfs.client.hedged.read.threshold.millis", "40");
    assertTrue(Settings.of(new Configuration(hedged)).hedgeMs < 0);
    hedged.set("dfs.client.hedged.read.threadpool.size", "4");
    assertEquals(40, Settings.of(new Configuration(hedged)).hedgeMs);
    hedged.unset("dfs.client.hedged.read.threshold.millis");
    assertEquals(500, Settings.of(hedged).hedgeMs);
  }

  /** Short-circuit reads need both the switch and the path. */
  @Test
  public void hadoopsOwnWordForShortCircuit() {
    Configuration both = new Configuration(false);
    both.set("dfs.domain.socket.path", "/run/dn.sock");
    assertEquals("", Settings.of(new Configuration(both)).shortCircuitSocket);
    both.set("dfs.client.read.shortcircuit", "true");
    assertEquals("/run/dn.sock", Settings.of(new Configuration(both)).shortCircuitSocket);
    both.unset("dfs.domain.socket.path");
    assertEquals("", Settings.of(both).shortCircuitSocket);
  }

  private static Protection protection(String name, String value) {
    Configuration conf = new Configuration(false);
    conf.set(name, value);
    return Settings.of(conf).protection;
  }

  @Test
  public void nonsenseIsReplacedByTheDefault() {
    conf.set(Settings.TIMEOUT_MS, "soon");
    conf.set(Settings.POOL_BYTES, "9999999999999999999999");
    conf.set(Settings.READAHEAD_BYTES, "1e9");
    Settings settings = Settings.of(conf);
    assertEquals(2000, settings.timeoutMs);
    assertEquals(4 << 20, settings.poolBytes);
    assertEquals(2 << 20, settings.readaheadBytes);
  }

  @Test
  public void readOncePerConfiguration() {
    Settings settings = Settings.of(conf);
    conf.set(Settings.TIMEOUT_MS, "77");
    assertSame(settings, Settings.of(conf));
    Settings copied = Settings.of(new Configuration(conf));
    assertNotSame(settings, copied);
    assertEquals(77, copied.timeoutMs);
    assertNotEquals(settings.connectionKey(), copied.connectionKey());
    conf.unset(Settings.TIMEOUT_MS);
    assertEquals(settings.connectionKey(), Settings.of(new Configuration(conf)).connectionKey());
  }
}
