// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.util.ServicePlugin;

/**
 * A plug-in of the NameNode (dfs.namenode.plugins) that allows symbolic links. No property of
 * Hadoop does. {@link Client} allows itself to follow them.
 */
public final class Links implements ServicePlugin {
  static void allow() {
    FileSystem.enableSymlinks();
  }

  @Override
  public void start(Object namenode) {
    allow();
  }

  @Override
  public void stop() {}

  @Override
  public void close() {}
}
