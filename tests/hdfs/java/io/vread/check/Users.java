// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.security.PrivilegedExceptionAction;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.Token;

/** The users in whose names scenarios read, and scenarios with several users. */
final class Users {
  private static final FsPermission OWNER_ONLY = new FsPermission((short) 0700);

  /** The client and the stream that striped-begin leaves for striped-end. */
  private DistributedFileSystem second;

  private FSDataInputStream half;

  static void register(Map<String, Scenario> scenarios) {
    scenarios.put("private-file", Users::writePrivate);
    scenarios.put("read-across", Users::readAcross);
    scenarios.put("striped-begin", (context, args) -> context.users.beginStriped(context, args));
    scenarios.put("striped-end", (context, args) -> context.users.endStriped(context, args));
  }

  /**
   * Without the argument "as", the user of this JVM. as=keytab: the user "principal", logged in by
   * the file "keytab". as=token: the user of this JVM as a task of a job has it, who has a
   * delegation token and no ticket.
   */
  static UserGroupInformation of(Configuration conf, Args args) throws Exception {
    UserGroupInformation login = UserGroupInformation.getLoginUser();
    switch (args.text("as", "login")) {
      case "login":
        return login;
      case "keytab":
        return UserGroupInformation.loginUserFromKeytabAndReturnUGI(
            args.text("principal"), args.text("keytab"));
      case "token":
        UserGroupInformation task =
            UserGroupInformation.createRemoteUser(login.getShortUserName());
        try (FileSystem fs = FileSystem.newInstance(conf)) {
          Token<?> token = fs.getDelegationToken(login.getShortUserName());
          task.addToken(token);
        }
        return task;
      default:
        throw new IllegalArgumentException("as " + args.text("as") + ": expected keytab or token");
    }
  }

  /** Writes "file" into a folder of its own that only the user "owner" may enter. */
  private static Map<String, Object> writePrivate(Context context, Args args) throws Exception {
    Content file = context.file(args);
    own(context, file.path, args.text("owner"));
    return Map.of("bytes", file.bytes.length);
  }

  private static void own(Context context, Path file, String owner) throws Exception {
    for (Path each : new Path[] {file, file.getParent()}) {
      context.stock.setPermission(each, OWNER_ONLY);
      context.stock.setOwner(each, owner, owner);
    }
  }

  /**
   * Reads "file" by a client of the user "owner" in a thread that the user "other" made. opener:
   * the user in whose name it is opened. Both clients read. "stats": of the reading by vRead.
   */
  private static Map<String, Object> readAcross(Context context, Args args) throws Exception {
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("stock_bytes", readAcross(context, context.stockConf, args));
    Statistics before = Statistics.now();
    result.put("bytes", readAcross(context, context.vreadConf, args));
    result.put("stats", Statistics.now().minus(before));
    return result;
  }

  private static long readAcross(Context context, Configuration conf, Args args) throws Exception {
    Content file = context.file(args);
    try (DistributedFileSystem fs = as(args.text("owner"), () -> context.newClient(conf));
        FSDataInputStream in = as(args.text("opener"), () -> fs.open(file.path))) {
      FutureTask<Long> reading = new FutureTask<>(() -> inTwoWays(in, file));
      as(
          args.text("other"),
          () -> {
            new Thread(reading, "of-another-user").start(); // has the user of its maker
            return null;
          });
      return reading.get();
    }
  }

  private static long inTwoWays(FSDataInputStream in, Content file) throws Exception {
    long bytes = Ways.all().get("pread").read(in, file, new Random(1));
    return bytes + Ways.sequential(in, file, 1 << 20);
  }

  private static <T> T as(String user, Callable<T> action) throws Exception {
    PrivilegedExceptionAction<T> privileged = action::call;
    return UserGroupInformation.createRemoteUser(user).doAs(privileged);
  }

  /**
   * The user "first" reads an erasure-coded file, in threads that Hadoop keeps. Then the user
   * "second" reads the first half of another one, in the same threads. Each file is private.
   */
  private Map<String, Object> beginStriped(Context context, Args args) throws Exception {
    String first = args.text("first");
    String user = args.text("second");
    Content before = writeStriped(context, first, args);
    Content file = writeStriped(context, user, args);
    long bytes = 0;
    try (DistributedFileSystem fs = as(first, () -> context.newClient(context.vreadConf))) {
      bytes += as(first, () -> Reading.once(fs, before, Ways.all().get("1m")));
    }
    second = as(user, () -> context.newClient(context.vreadConf));
    half = as(user, () -> second.open(file.path));
    byte[] read = new byte[file.bytes.length / 2];
    half.readFully(read);
    file.check(0, read, 0, read.length);
    return Map.of("bytes", bytes + read.length);
  }

  /** Reads the second half. */
  private Map<String, Object> endStriped(Context context, Args args) throws Exception {
    Content file = context.kept.get(striped(args.text("second")));
    int from = (int) half.getPos();
    byte[] rest = new byte[file.bytes.length - from];
    as(
        args.text("second"),
        () -> {
          half.readFully(rest);
          return null;
        });
    file.check(from, rest, 0, rest.length);
    half.close();
    second.close();
    return Map.of("bytes", rest.length);
  }

  private static String striped(String user) {
    return "/striped-of-" + user + "/file";
  }

  private static Content writeStriped(Context context, String user, Args args) throws Exception {
    Path path = new Path(striped(user));
    Special.makeStriped(context, path.getParent());
    Content file = Content.write(context, path.toString(), args);
    context.kept.put(path.toString(), file);
    own(context, path, user);
    return file;
  }
}
