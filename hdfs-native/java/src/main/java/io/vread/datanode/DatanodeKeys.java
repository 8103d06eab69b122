// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.io.IOException;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.hadoop.hdfs.security.token.block.BlockKey;
import org.apache.hadoop.hdfs.security.token.block.BlockPoolTokenSecretManager;
import org.apache.hadoop.hdfs.security.token.block.BlockTokenSecretManager;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsDatasetSpi;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the block keys of a stock datanode, by which the datanode itself judges tokens. When a
 * datanode registers with a NameNode it learns whether tokens are used; it gets keys then and with
 * heartbeats.
 *
 * <p>A datanode exports its keys to nobody (only a NameNode's secret manager does). So the keys are
 * read from the private map of the datanode's secret manager, under the manager's lock. If the map
 * cannot be read, the backend is told that tokens are on and that there is no key: no fast path is
 * better than a fast path without a check.
 */
final class DatanodeKeys implements KeySource {
  private static final Logger LOG = LoggerFactory.getLogger(DatanodeKeys.class);

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
    return ofVolumes(volume -> Arrays.asList(volume.getBlockPoolList()));
  }

  @Override
  public Set<String> storages() {
    return ofVolumes(volume -> Collections.singleton(volume.getStorageID()));
  }

  private Set<String> ofVolumes(Function<FsVolumeSpi, Collection<String>> names) {
    Set<String> found = new HashSet<>();
    try (FsDatasetSpi.FsVolumeReferences volumes = dataset.getFsVolumeReferences()) {
      for (FsVolumeSpi volume : volumes) {
        found.addAll(names.apply(volume));
      }
    } catch (IOException e) {
      LOG.debug("vread: looking for block pools and storages", e);
    }
    return found;
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
    try {
      synchronized (manager) {
        return BlockKeys.on(
            ((Map<?, ?>) allKeys.get(manager))
                .values().stream()
                    .map(BlockKey.class::cast)
                    .filter(this::isSupported)
                    .sorted(Comparator.comparingInt(BlockKey::getKeyId))
                    .limit(MOST_KEYS)
                    .collect(Collectors.toList()));
      }
    } catch (ReflectiveOperationException | RuntimeException e) {
      complain("this version of Hadoop keeps its block keys elsewhere");
      return BlockKeys.on(Collections.emptyList());
    }
  }

  /** Warns of a key that the backend cannot use. */
  private boolean isSupported(BlockKey key) {
    byte[] bytes = key.getEncodedKey();
    if (bytes == null) {
      return false;
    }
    boolean supported = BlockKeys.algorithm(key) > 0 && bytes.length <= LONGEST_KEY;
    if (!supported) {
      complain(bytes.length + " bytes for " + key.getKey().getAlgorithm() + " are not supported");
    }
    return supported;
  }

  private void complain(String why) {
    if (!complained) {
      complained = true;
      LOG.warn("vread: block tokens cannot be checked, blocks are read as without vread: {}", why);
    }
  }
}
