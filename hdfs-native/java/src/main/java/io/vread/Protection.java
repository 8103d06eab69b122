// SPDX-License-Identifier: Apache-2.0
package io.vread;

import org.apache.hadoop.conf.Configuration;

/**
 * How bytes that come from another host must be protected on their way. {@link Settings} finds what
 * Hadoop's configuration wants; the names are those of dfs.data.transfer.protection.
 */
public enum Protection {
  /** As the hosts have agreed. */
  AUTHENTICATION(0),
  /** Encrypted or with a MAC: nobody can change them unnoticed. */
  INTEGRITY(2),
  /** Encrypted. */
  PRIVACY(1);

  private static final String[] QUALITIES = {
    "dfs.data.transfer.protection", "hadoop.rpc.protection"
  };

  private final int code;

  Protection(int code) {
    this.code = code;
  }

  /** VREAD_PROTECT_* of vread.h, or 0. */
  public int code() {
    return code;
  }

  /** Hadoop takes lists there; its readers and writers agree on one. The strongest counts here. */
  static Protection of(Configuration conf) {
    Protection found =
        conf.getBoolean("dfs.encrypt.data.transfer", false) ? PRIVACY : AUTHENTICATION;
    for (String name : QUALITIES) {
      for (String quality : conf.getTrimmedStrings(name)) {
        for (Protection each : values()) {
          if (each.name().equalsIgnoreCase(quality) && each.compareTo(found) > 0) {
            found = each;
          }
        }
      }
    }
    return found;
  }
}
