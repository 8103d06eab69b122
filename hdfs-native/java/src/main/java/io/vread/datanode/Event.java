// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

/** What a datanode tells the backend of a replica; the codes are those of {@code vread.h}. */
enum Event {
  /** Block and meta file are durable under this generation stamp: it may be read again. */
  FINALIZED(1),
  /** From here on no stamp up to this one may be read: bytes follow, or only a new stamp. */
  APPEND(2),
  /** Likewise: bytes at the end go. */
  TRUNCATE(3),
  /** Likewise: the files go, for good or to another directory. */
  DELETE(4);

  final int code;

  Event(int code) {
    this.code = code;
  }
}
