// SPDX-License-Identifier: Apache-2.0
package io.vread.field;

import io.vread.NativeLibrary;

/** Loads the native library, and prints the file that was loaded or the reason for none. */
public final class FieldLibrary {
  private FieldLibrary() {}

  /** arguments: io.vread.library.path. */
  public static void main(String[] arguments) {
    NativeLibrary library = NativeLibrary.load(arguments[0]);
    System.out.println(library.usable() ? library.path() : library.reason());
  }
}
