// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import io.vread.hdfs.locations.ConfigurationCopy;
import io.vread.hdfs.locations.ObservingClient;
import java.io.IOException;
import java.lang.reflect.Field;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.AbstractFileSystem;
import org.apache.hadoop.fs.FilterFs;
import org.apache.hadoop.fs.Hdfs;
import org.apache.hadoop.hdfs.DFSClient;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@link VreadFileSystem} for programs that use FileContext, as YARN does. Hadoop makes it if
 * {@code fs.AbstractFileSystem.hdfs.impl} names this class.
 *
 * <p>Every call goes to a stock {@link Hdfs}, whose DFSClient is replaced by an {@link
 * ObservingClient}. If Java or Hadoop does not permit the replacement, the stock client stays.
 */
public class VreadFs extends FilterFs {
  private static final Logger LOG = LoggerFactory.getLogger(VreadFs.class);
  private static final String IMPLEMENTATION = "fs.AbstractFileSystem.hdfs.impl";

  /** AbstractFileSystem.createFileSystem() calls a constructor with these parameters. */
  public VreadFs(URI uri, Configuration conf) throws IOException, URISyntaxException {
    super(stock(uri, conf));
  }

  private static AbstractFileSystem stock(URI uri, Configuration conf) throws IOException {
    Configuration stockConf = new ConfigurationCopy(conf);
    stockConf.setClass(IMPLEMENTATION, Hdfs.class, AbstractFileSystem.class);
    AbstractFileSystem made = AbstractFileSystem.createFileSystem(uri, stockConf);
    try {
      Field field = Hdfs.class.getDeclaredField("dfs");
      field.setAccessible(true);
      DFSClient stock = (DFSClient) field.get(made);
      field.set(made, ObservingClient.make(uri, conf, made.getStatistics()));
      stock.close();
    } catch (ReflectiveOperationException | RuntimeException e) {
      LOG.debug("vread: {}: answers of the NameNode are not seen", uri, e);
    }
    return made;
  }
}
