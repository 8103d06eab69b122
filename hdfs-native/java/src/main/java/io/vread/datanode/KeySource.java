// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.util.Set;

/** What the datanode knows of its block pools' tokens. Asked often: it does no I/O. */
interface KeySource {
  Set<String> pools();

  /** Of the datanode's own, one or more: through these the backend knows whose keys they are. */
  Set<String> storages();

  /** Null while the pool's NameNode has not told yet. */
  BlockKeys of(String poolId);
}
