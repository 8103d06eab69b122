// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.Token;

/** The users in whose names scenarios read. {@link Elsewhere} asks for them. */
final class Users {
  private Users() {}

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
}
