// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DistributedFileSystem;

/**
 * The stock file system, for programs that make it on native threads (libhdfs, pyarrow).
 *
 * <p>HDFS loads replica accessor builders through the thread's context class loader when a file
 * system is made. A native thread that was attached to the virtual machine has none, unless it is
 * the one that made the machine, and then all of that file system's reads go by
 * TCP, with nothing but a warning in the log. As {@code fs.hdfs.impl}, this class is loaded by the
 * configuration's class loader, which is never missing, and lends it to the thread meanwhile.
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
