// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.io.IOException;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.hadoop.hdfs.security.token.block.BlockKey;
import org.apache.hadoop.hdfs.security.token.block.BlockPoolTokenSecretManager;
import org.apache.hadoop.hdfs.security.token.block.BlockTokenSecretManager;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsDatasetSpi;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the block keys of a stock datanode, by which the datanode itself judges tokens.
 * {@link KeyPublisher} asks for them. When a datanode registers with a NameNode it learns whether
 * tokens are used; it gets keys then and with heartbeats.
 *
 * <p>A datanode exports its keys to nobody (only a NameNode's secret manager does). So the keys are
 * read from the private map of the datanode's secret manager, under the manager's lock. If the map
 * cannot be read, the backend is told that tokens are on and that there is no key: no fast path is
 * better than a fast path without a check.
 */
final class DatanodeKeys implements KeySource {
  private static final Logger LOG = LoggerFactory.getLogger(DatanodeKeys.class);

  /** An algorithm's index + 1 is its VREAD_HMAC_* code of {@code vread.h}. */
  private static final List<String> ALGORITHMS =
      Arrays.asList("HmacSHA1", "HmacSHA256", "HmacSHA384", "HmacSHA512");

  private static final int MOST_KEYS = 64;
  private static final int LONGEST_KEY = 64;

  private final DataNode datanode;
  private final FsDatasetSpi<?> dataset;
  private final Field allKeys; // null: no access
  private boolean complained;

  DatanodeKeys(DataNode datanode, FsDatasetSpi<?> dataset) {
    this.datanode = datanode;
    this.dataset = dataset;
    this.allKeys = fieldOf();
  }

  private static Field fieldOf() {
    try {
      Field field = BlockTokenSecretManager.class.getDeclaredField("allKeys");
      field.setAccessible(true);
      return field;
    } catch (ReflectiveOperationException | RuntimeException e) {
      LOG.debug("vread: no access to block keys", e);
      return null;
    }
  }

  @Override
  public Set<String> pools() {
    Set<String> pools = new HashSet<>();
    try (FsDatasetSpi.FsVolumeReferences volumes = dataset.getFsVolumeReferences()) {
      for (FsVolumeSpi volume : volumes) {
        pools.addAll(Arrays.asList(volume.getBlockPoolList()));
      }
    } catch (IOException e) {
      LOG.debug("vread: looking for block pools", e);
    }
    return pools;
  }

  @Override
  public Set<String> storages() {
    Set<String> storages = new HashSet<>();
    try (FsDatasetSpi.FsVolumeReferences volumes = dataset.getFsVolumeReferences()) {
      for (FsVolumeSpi volume : volumes) {
        storages.add(volume.getStorageID());
      }
    } catch (IOException e) {
      LOG.debug("vread: looking for storages", e);
    }
    return storages;
  }

  @Override
  public BlockKeys of(String poolId) {
    boolean tokens;
    try {
      tokens = datanode.getDNRegistrationForBP(poolId).getExportedKeys().isBlockTokenEnabled();
    } catch (IOException | NullPointerException e) {
      return null; // the datanode has not registered yet
    }
    if (!tokens) {
      return BlockKeys.OFF;
    }
    BlockPoolTokenSecretManager managers = datanode.getBlockPoolTokenSecretManager();
    if (!managers.isBlockPoolRegistered(poolId)) {
      return null;
    }
    return keysOf(managers.get(poolId));
  }

  BlockKeys keysOf(BlockTokenSecretManager manager) {
    Map<Integer, BlockKeys.Key> byId = new TreeMap<>();
    try {
      synchronized (manager) {
        for (Object key : ((Map<?, ?>) allKeys.get(manager)).values()) {
          add(byId, (BlockKey) key);
        }
      }
    } catch (ReflectiveOperationException | RuntimeException e) {
      complain("this version of Hadoop keeps its block keys elsewhere");
      byId.clear();
    }
    List<BlockKeys.Key> keys = new ArrayList<>(byId.values());
    return BlockKeys.on(keys.subList(0, Math.min(keys.size(), MOST_KEYS)));
  }

  private void add(Map<Integer, BlockKeys.Key> byId, BlockKey key) {
    byte[] bytes = key.getEncodedKey();
    if (bytes == null) {
      return;
    }
    int algorithm = ALGORITHMS.indexOf(key.getKey().getAlgorithm()) + 1;
    if (algorithm == 0 || bytes.length > LONGEST_KEY) {
      complain(bytes.length + " bytes for " + key.getKey().getAlgorithm() + " are not supported");
      return;
    }
    int id = key.getKeyId();
    byId.put(id, new BlockKeys.Key(id, algorithm, key.getExpiryDate(), bytes));
  }

  private void complain(String why) {
    if (!complained) {
      complained = true;
      LOG.warn("vread: block tokens cannot be checked, blocks are read as without vread: {}", why);
    }
  }
}
