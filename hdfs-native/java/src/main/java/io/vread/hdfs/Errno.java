// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

/** The errors of vreadif.h (Linux's numbers, negative) by name, and what each asks of us. */
final class Errno {
  static final int EPERM = -1;
  static final int ENOENT = -2;
  static final int EIO = -5;
  static final int EBADF = -9;
  static final int EAGAIN = -11;
  static final int ENOMEM = -12;
  static final int EACCES = -13;
  static final int EBUSY = -16;
  static final int EEXIST = -17;
  static final int EXDEV = -18;
  static final int ENODEV = -19;
  static final int EINVAL = -22;
  static final int EMFILE = -24;
  static final int ENOSPC = -28;
  static final int ERANGE = -34;
  static final int ENODATA = -61;
  static final int ETIME = -62;
  static final int EPROTO = -71;
  static final int EBADMSG = -74;
  static final int EILSEQ = -84;
  static final int EOPNOTSUPP = -95;
  static final int ENOTCONN = -107;
  static final int ECONNREFUSED = -111;

  private Errno() {}

  static String name(int errno) {
    switch (errno) {
      case EPERM:
        return "EPERM";
      case ENOENT:
        return "ENOENT";
      case EIO:
        return "EIO";
      case EBADF:
        return "EBADF";
      case EAGAIN:
        return "EAGAIN";
      case ENOMEM:
        return "ENOMEM";
      case EACCES:
        return "EACCES";
      case EBUSY:
        return "EBUSY";
      case EEXIST:
        return "EEXIST";
      case EXDEV:
        return "EXDEV";
      case ENODEV:
        return "ENODEV";
      case EINVAL:
        return "EINVAL";
      case EMFILE:
        return "EMFILE";
      case ENOSPC:
        return "ENOSPC";
      case ERANGE:
        return "ERANGE";
      case ENODATA:
        return "ENODATA";
      case ETIME:
        return "ETIME";
      case EPROTO:
        return "EPROTO";
      case EBADMSG:
        return "EBADMSG";
      case EILSEQ:
        return "EILSEQ";
      case EOPNOTSUPP:
        return "EOPNOTSUPP";
      case ENOTCONN:
        return "ENOTCONN";
      case ECONNREFUSED:
        return "ECONNREFUSED";
      default:
        return "errno-" + -errno;
    }
  }

  /** The same for a connection that cannot be made, where some errors mean something else. */
  static String connectName(int errno) {
    switch (errno) {
      case ENOENT:
      case -6: // ENXIO
        return "no-device";
      case EACCES:
      case EPERM:
        return "no-permission";
      case ENOTCONN:
      case ECONNREFUSED:
        return "no-backend";
      default:
        return name(errno);
    }
  }

  /** The connection is of no more use, whatever was asked of it. */
  static boolean losesConnection(int errno) {
    return errno == ENOTCONN || errno == ETIME || errno == EPROTO;
  }

  /** The file may be opened again under the same name. */
  static boolean losesFile(int errno) {
    return errno == EAGAIN || errno == EBADF;
  }
}
