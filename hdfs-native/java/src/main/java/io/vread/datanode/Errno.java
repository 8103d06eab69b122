// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

/** The errors of publishing and of making files durable: names, and which end a connection. */
final class Errno {
  static final int ENOENT = 2;
  static final int EIO = 5;
  static final int EACCES = 13;
  static final int ENODEV = 19;
  static final int EINVAL = 22;
  static final int ETIME = 62;
  static final int EPROTO = 71;
  static final int EOPNOTSUPP = 95;
  static final int ENOTCONN = 107;
  static final int ECONNREFUSED = 111;

  private Errno() {}

  /** True if nothing more can be said over the connection, whatever it was about. */
  static boolean endsConnection(int result) {
    return result == -ENOTCONN || result == -ETIME || result == -EPROTO;
  }

  static String name(int result) {
    switch (-result) {
      case ENOENT:
        return "ENOENT";
      case EIO:
        return "EIO";
      case EACCES:
        return "EACCES";
      case ENODEV:
        return "ENODEV";
      case EINVAL:
        return "EINVAL";
      case ETIME:
        return "ETIME";
      case EPROTO:
        return "EPROTO";
      case EOPNOTSUPP:
        return "EOPNOTSUPP";
      case ENOTCONN:
        return "ENOTCONN";
      case ECONNREFUSED:
        return "ECONNREFUSED";
      default:
        return "errno-" + -result;
    }
  }
}
