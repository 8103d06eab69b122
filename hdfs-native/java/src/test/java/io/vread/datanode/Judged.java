// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/**
 * All methods that FsDatasetSpi declares in Hadoop 3.3.6, 3.4.3 or 3.5.0: those that change what
 * readers see, and the harmless ones. See {@link Change} for the reasons. PublishingDatasetTest
 * fails if a method is in neither set.
 */
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
