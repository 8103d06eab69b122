// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/** The methods that FsDatasetSpi declares in 3.3.6, 3.4.3 or 3.5.0; see Changes for the reasons. */
final class Judged {
  static final Set<String> CHANGES =
      new HashSet<>(
          Arrays.asList(
              "append",
              "checkAndUpdate",
              "createRbw",
              "createTemporary",
              "finalizeBlock",
              "invalidate",
              "invalidateMissingBlock",
              "moveBlockAcrossStorage",
              "moveBlockAcrossVolumes",
              "recoverAppend",
              "recoverClose",
              "recoverRbw",
              "updateReplicaUnderRecovery"));

  static final Set<String> HARMLESS =
      new HashSet<>(
          Arrays.asList(
              "acquireDatasetLock",
              "acquireDatasetLockManager",
              "acquireDatasetReadLock",
              "addBlockPool",
              "addVolume",
              "adjustCrcChannelPosition",
              "cache",
              "checkBlock",
              "clearRollingUpgradeMarker",
              "clearTrash",
              "contains",
              "convertTemporaryToRbw",
              "deepCopyReplica",
              "deleteBlockPool",
              "enableTrash",
              "getBlockInputStream",
              "getBlockLocalPathInfo",
              "getBlockReports",
              "getCacheReport",
              "getFinalizedBlocks",
              "getFsVolumeReferences",
              "getLength",
              "getMetaDataInputStream",
              "getMountVolumeMap",
              "getPinning",
              "getReplica",
              "getReplicaString",
              "getReplicaVisibleLength",
              "getStorage",
              "getStorageReports",
              "getStoredBlock",
              "getTmpInputStreams",
              "getVolume",
              "getVolumeFailureSummary",
              "getVolumeInfoMap",
              "getVolumeList",
              "handleVolumeFailures",
              "hasEnoughResource",
              "initReplicaRecovery",
              "isCached",
              "isDeletingBlock",
              "isValidBlock",
              "isValidRbw",
              "onCompleteLazyPersist",
              "onFailLazyPersist",
              "removeVolumes",
              "setLastDirScannerFinishTime",
              "setPinning",
              "setRollingUpgradeMarker",
              "shutdown",
              "shutdownBlockPool",
              "submitBackgroundSyncFileRangeRequest",
              "trashEnabled",
              "uncache",
              "unfinalizeBlock"));

  private Judged() {}
}
