// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.DistributedFileSystem;

/**
 * Two clients of one cluster: the stock client, and one whose configuration names vRead's builder.
 *
 * <p>The stock client writes the files. Properties of the command line apply only to the other.
 */
final class Context implements AutoCloseable {
  private static final String BUILDERS = "dfs.client.replica.accessor.builder.classes";

  final Configuration stockConf = new Configuration();
  final Configuration vreadConf;
  final DistributedFileSystem stock;
  final DistributedFileSystem vread;
  final Map<String, String> own = new LinkedHashMap<>();
  final Map<String, Content> kept = new LinkedHashMap<>();
  FSDataInputStream keptStream;
  final Background background = new Background();
  final Outage outage = new Outage();
  final Users users = new Users();
  final Interrupts interrupts = new Interrupts();

  Context(String[] arguments) throws IOException {
    stockConf.unset(BUILDERS);
    RecordedCalls.record(stockConf);
    vreadConf = new Configuration(stockConf);
    vreadConf.set("dfs.client.context", "vread"); // connections of its own
    for (String argument : arguments) {
      String name = argument.substring(0, argument.indexOf('='));
      String value = argument.substring(name.length() + 1);
      if (name.startsWith("check.")) {
        own.put(name.substring("check.".length()), value);
      } else {
        vreadConf.set(name, value);
      }
    }
    stock = newClient(stockConf);
    vread = newClient(vreadConf);
  }

  /** Creates a client that is not shared. The caller closes it. */
  DistributedFileSystem newClient(Configuration conf) throws IOException {
    return (DistributedFileSystem) FileSystem.newInstance(FileSystem.getDefaultUri(conf), conf);
  }

  /** Returns the client of that name, "vread" or "stock". */
  DistributedFileSystem client(String name) {
    if (name.equals("vread")) {
      return vread;
    }
    if (name.equals("stock")) {
      return stock;
    }
    throw new IllegalArgumentException("client " + name + ": expected vread or stock");
  }

  /** The file "file" that a test wrote before, in this or another JVM. If none, writes it. */
  Content file(Args args) throws Exception {
    String name = args.text("file", "/common");
    Content found = kept.get(name);
    if (found == null) {
      found = Content.present(this, name, args);
      if (found == null) {
        found = Content.write(this, name, args);
      }
      kept.put(name, found);
    }
    return found;
  }

  @Override
  public void close() throws IOException {
    background.stop();
    vread.close();
    stock.close();
  }
}
