// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import static org.junit.Assert.assertEquals;

import io.vread.hdfs.locations.ObservingClient;
import java.lang.reflect.Modifier;
import org.apache.hadoop.fs.Hdfs;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.junit.Test;

/** Programs get these classes where they expect the stock ones. */
public class InPlaceOfStockTest {
  /** Programs extend file systems, and their tests spy on file systems and clients (Mockito). */
  @Test
  public void whatMayBeExtended() {
    sameWord(DistributedFileSystem.class, VreadFileSystem.class);
    sameWord(Hdfs.class, VreadFs.class);
    sameWord(DFSClient.class, ObservingClient.class);
  }

  private static void sameWord(Class<?> stock, Class<?> ours) {
    assertEquals(
        ours.getName(),
        Modifier.isFinal(stock.getModifiers()),
        Modifier.isFinal(ours.getModifiers()));
  }
}
