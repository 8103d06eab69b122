// SPDX-License-Identifier: Apache-2.0
package io.vread;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;

/**
 * Encodes paths for system calls as Java itself does for files. This is not the default charset:
 * Java 18 and later takes UTF-8 as default in any locale, and {@code -Dfile.encoding} changes the
 * default, but not the names of files.
 */
public final class SystemPath {
  private static final Charset CHARSET = charset(System.getProperty("sun.jnu.encoding"));

  private SystemPath() {}

  /**
   * Returns the bytes of a path. A path that the charset of the locale lacks is taken as UTF-8: it
   * comes from a configuration file, and daemons often run in the locale C.
   */
  public static byte[] bytes(String path) {
    boolean encodable = CHARSET.newEncoder().canEncode(path);
    return path.getBytes(encodable ? CHARSET : StandardCharsets.UTF_8);
  }

  private static Charset charset(String name) {
    try {
      return Charset.forName(name);
    } catch (IllegalArgumentException e) { // null, too
      return StandardCharsets.UTF_8;
    }
  }
}
