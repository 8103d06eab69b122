// SPDX-License-Identifier: Apache-2.0
package io.vread;

import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.Map;

/**
 * The errors that libvread and the kernel return (Linux's numbers, negative), their names, and
 * whether an error means that the connection or the file is lost.
 */
public final class Errno {
  public static final int EPERM = -1;
  public static final int ENOENT = -2;
  public static final int EINTR = -4;
  public static final int EIO = -5;
  public static final int ENXIO = -6;
  public static final int EBADF = -9;
  public static final int EAGAIN = -11;
  public static final int ENOMEM = -12;
  public static final int EACCES = -13;
  public static final int EBUSY = -16;
  public static final int EEXIST = -17;
  public static final int ENODEV = -19;
  public static final int EINVAL = -22;
  public static final int EMFILE = -24;
  public static final int ENOSPC = -28;
  public static final int ERANGE = -34;
  public static final int EBADE = -52;
  public static final int ENODATA = -61;
  public static final int ETIME = -62;
  public static final int EPROTO = -71;
  public static final int EBADMSG = -74;
  public static final int EILSEQ = -84;
  public static final int EDESTADDRREQ = -89;
  public static final int EOPNOTSUPP = -95;
  public static final int ENOTCONN = -107;
  public static final int ECONNREFUSED = -111;

  private static final Map<Integer, String> NAMES = new HashMap<>();

  static {
    try {
      for (Field constant : Errno.class.getFields()) {
        NAMES.put(constant.getInt(null), constant.getName());
      }
    } catch (IllegalAccessException e) { // they are public
      throw new AssertionError(e);
    }
  }

  private Errno() {}

  /** As in errno.h, or "errno-" and a number. */
  public static String name(int errno) {
    String name = NAMES.get(errno);
    return name == null ? "errno-" + -errno : name;
  }

  /** The name of an error met while connecting, where some errors have another meaning. */
  public static String connectName(int errno) {
    switch (errno) {
      case ENOENT:
      case ENXIO:
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

  /** True if the connection itself failed, whatever was asked of it: stop using the connection. */
  public static boolean losesConnection(int errno) {
    return errno == ENOTCONN || errno == ETIME || errno == EPROTO;
  }

  /** True if only the open file is lost: it may be opened again under the same name. */
  public static boolean losesFile(int errno) {
    return errno == EAGAIN || errno == EBADF;
  }
}
