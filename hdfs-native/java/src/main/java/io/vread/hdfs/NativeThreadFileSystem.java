// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DistributedFileSystem;

/**
 * The stock file system for programs that make it on native threads (libhdfs, pyarrow). Hadoop
 * makes it if {@code fs.hdfs.impl} names this class.
 *
 * <p>HDFS loads replica accessor builders through the thread's context class loader when a file
 * system is made. A native thread that was attached to the JVM has no such loader, unless the
 * thread created the JVM. Then all reads of that file system go by TCP, and only a warning in the
 * log says so. Hadoop loads this class by the configuration's class loader, which is never missing,
 * and this class lends that loader to the thread while the file system is made.
 */
public final class NativeThreadFileSystem extends DistributedFileSystem {
    @Override
    public void initialize(URI uri, Configuration conf) throws IOException {
        Thread thread = Thread.currentThread();
        if (thread.getContextClassLoader() != null) {
            super.initialize(uri, conf);
            return;
        }
        thread.setContextClassLoader(conf.getClassLoader());
        try {
            super.initialize(uri, conf);
        } finally {
            thread.setContextClassLoader(null);
        }
    }
}
