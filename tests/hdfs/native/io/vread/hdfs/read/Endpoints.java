// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import io.vread.Errno;
import io.vread.NativeLibrary;

/** Prints the errors of connections to an endpoint, and to the endpoint with a NUL and more. */
public final class Endpoints {
  private Endpoints() {}

  /** arguments: the library and the endpoint. */
  public static void main(String[] arguments) {
    if (!NativeLibrary.load(arguments[0]).usable()) {
      throw new IllegalStateException("no library");
    }
    for (String rest : new String[] {"", "\0", "\0/more"}) {
      long connection = NativeBackend.INSTANCE.connect(arguments[1] + rest, 1 << 20, 1000, 1);
      System.out.println(connection < 0 ? Errno.name((int) connection) : "connected");
    }
  }
}
