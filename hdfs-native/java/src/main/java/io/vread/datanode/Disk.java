// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.io.File;

/** The system calls that make files durable. */
interface Disk {
  /**
   * Makes the kernel start writing the file's pages. Does not wait for the end, and ignores errors.
   */
  void startWriting(File file);

  /**
   * Waits until a file's data, and the metadata needed to find the data, are on disk.
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
