// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.bench;

/** A read gave other bytes than the file's maker wrote. The message says which. */
final class WrongBytes extends Exception {
  private static final long serialVersionUID = 1;

  WrongBytes(String message) {
    super(message);
  }
}
