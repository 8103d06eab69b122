// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

/**
 * An event of a replica that the datanode tells the backend. The codes are VREAD_EVENT_* of
 * {@code vread.h}.
 */
enum Event {
  /** The block and its .meta file are durable under this generation stamp: it may be read again. */
  FINALIZED(1),
  /** From now on stamps up to this one must not be read: bytes follow, or only a new stamp. */
  APPEND(2),
  /** As APPEND, but bytes at the end will be cut off. */
  TRUNCATE(3),
  /** As APPEND, but the files will be deleted or moved to another directory. */
  DELETE(4);

  final int code;

  Event(int code) {
    this.code = code;
  }
}
