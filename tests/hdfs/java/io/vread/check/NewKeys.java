// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.io.IOException;
import java.util.Map;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.DatanodeReportType;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockManager;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeDescriptor;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.hdfs.tools.DFSAdmin;
import org.apache.hadoop.ipc.RefreshHandler;
import org.apache.hadoop.ipc.RefreshRegistry;
import org.apache.hadoop.ipc.RefreshResponse;
import org.apache.hadoop.util.ServicePlugin;

/**
 * A plug-in of the NameNode (dfs.namenode.plugins) that makes a new key for block tokens when a
 * test asks for one. By itself the NameNode makes new keys after a minute at the earliest. The
 * datanodes get the key with their next heartbeats.
 */
public final class NewKeys implements ServicePlugin, RefreshHandler {
  private static final String NAME = "new-keys";

  private BlockManager blocks;

  static void register(Map<String, Scenario> scenarios) {
    scenarios.put(NAME, NewKeys::make);
  }

  private static Map<String, Object> make(Context context, Args args) throws Exception {
    String namenode = FileSystem.getDefaultUri(context.stockConf).getAuthority();
    DFSAdmin admin = new DFSAdmin(context.stockConf);
    if (admin.run(new String[] {"-refresh", namenode, NAME}) != 0) {
      throw new IOException(namenode + " makes no new keys");
    }
    return Map.of();
  }

  @Override
  public void start(Object namenode) {
    blocks = ((NameNode) namenode).getNamesystem().getBlockManager();
    RefreshRegistry.defaultRegistry().register(NAME, this);
  }

  @Override
  public RefreshResponse handleRefresh(String name, String[] arguments) {
    try {
      blocks.getBlockTokenSecretManager().updateKeys(Long.MAX_VALUE);
    } catch (IOException e) {
      return new RefreshResponse(1, e.toString());
    }
    for (DatanodeDescriptor datanode :
        blocks.getDatanodeManager().getDatanodeListForReport(DatanodeReportType.ALL)) {
      datanode.setNeedKeyUpdate(true);
    }
    return RefreshResponse.successResponse();
  }

  @Override
  public void stop() {
    RefreshRegistry.defaultRegistry().unregister(NAME, this);
  }

  @Override
  public void close() {
    stop();
  }
}
