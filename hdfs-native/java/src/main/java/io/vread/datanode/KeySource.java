// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.util.Set;

/** What the datanode knows of its block pools' tokens. No method does I/O. */
interface KeySource {
  Set<String> pools();

  /**
   * One or more storages of the datanode. By them the backend knows which datanode the keys are of.
   */
  Set<String> storages();

  /** Null until the pool's NameNode has told the datanode. */
  BlockKeys of(String poolId);
}
