// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.io.File;
import java.net.URI;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi;

/**
 * Makes durable, once, the files that say which storage and block pool a data directory holds. The
 * publisher's thread calls it. The datanode writes these files when it formats the directory and
 * does not sync them; until they are on disk, the backend cannot know what the blocks there are.
 */
final class VolumeIdentity {
  private static final String CURRENT = "current";
  private static final String VERSION = "VERSION";

  private final Disk disk;
  private final Set<String> done = new HashSet<>();

  VolumeIdentity(Disk disk) {
    this.disk = disk;
  }

  /**
   * A failure is tried again with the next block. The block's own files do not depend on the
   * result.
   */
  void makeDurable(FsVolumeSpi volume, String poolId) {
    String key = volume.getStorageID() + "/" + poolId;
    URI base = volume.getBaseURI();
    if (done.contains(key) || base == null || !"file".equals(base.getScheme())) {
      return;
    }
    File current = new File(new File(base), CURRENT);
    File poolCurrent = new File(new File(current, poolId), CURRENT);
    int result = disk.syncData(new File(current, VERSION));
    result |= disk.syncData(new File(poolCurrent, VERSION));
    result |= disk.syncDirectory(poolCurrent);
    result |= disk.syncDirectory(current);
    if (result == 0) {
      done.add(key);
    }
  }
}
