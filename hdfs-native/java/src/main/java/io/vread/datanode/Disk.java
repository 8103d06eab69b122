// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.io.File;

/** What it takes to make files durable. */
interface Disk {
  /** Has the kernel begin to write the file's pages, without waiting for it; never fails. */
  void startWriting(File file);

  /**
   * Waits until a file's data, and what is needed to find it, are on disk.
   *
   * @return 0 or a negative errno
   */
  int syncData(File file);

  /**
   * Waits until a directory's entries are on disk.
   *
   * @return 0 or a negative errno
   */
  int syncDirectory(File directory);
}
