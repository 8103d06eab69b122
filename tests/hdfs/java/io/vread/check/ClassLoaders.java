// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.io.IOException;
import java.lang.ref.WeakReference;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.util.ReflectionUtils;

/**
 * An application that loads the plug-in's jar in a class loader per job, as Flink and Spark do with
 * jars of users. The JVM's class path must not have the jar.
 */
final class ClassLoaders {
  private static final long COLLECTED_MS = 30_000;

  private ClassLoaders() {}

  static void register(Map<String, Scenario> scenarios) {
    scenarios.put("class-loaders", ClassLoaders::run);
  }

  /**
   * Reads the file by "count" class loaders with the jar, one after the other; each is closed and
   * dropped. properties: "name=value", of the clients. "left": how many loaders were not collected;
   * "threads": the plug-in's threads that run afterwards.
   */
  private static Map<String, Object> run(Context context, Args args) throws Exception {
    Content file = context.file(args);
    List<WeakReference<ClassLoader>> dropped = new ArrayList<>();
    long bytes = 0;
    for (long number = 0; number < args.number("count", 1); number++) {
      context.stock.exists(file.path); // Hadoop's connection to the NameNode is made here
      URL[] jar = {Paths.get(args.text("jar")).toUri().toURL()};
      try (URLClassLoader loader = new URLClassLoader(jar, ClassLoaders.class.getClassLoader())) {
        dropped.add(new WeakReference<>(loader));
        try (DistributedFileSystem fs = client(context, args, loader)) {
          bytes += Reading.once(fs, file, Ways.all().get("1m"));
        }
      }
    }
    Awaiting.within(COLLECTED_MS, () -> uncollected(dropped) == 0);
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("bytes", bytes);
    result.put("left", uncollected(dropped));
    result.put("threads", threads());
    return result;
  }

  private static DistributedFileSystem client(Context context, Args args, ClassLoader loader)
      throws IOException {
    Configuration conf = new Configuration(context.vreadConf);
    for (String property : args.list("properties")) {
      int end = property.indexOf('=');
      conf.set(property.substring(0, end), property.substring(end + 1));
    }
    conf.setClassLoader(loader);
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    thread.setContextClassLoader(loader);
    try {
      return context.newClient(conf);
    } finally {
      thread.setContextClassLoader(before);
    }
  }

  private static long uncollected(List<WeakReference<ClassLoader>> dropped)
      throws ReflectiveOperationException {
    forgetConstructors();
    System.gc();
    return dropped.stream().filter(each -> each.get() != null).count();
  }

  /** Hadoop itself keeps every class that it has made a file system of. */
  private static void forgetConstructors() throws ReflectiveOperationException {
    Method clear = ReflectionUtils.class.getDeclaredMethod("clearCache");
    clear.setAccessible(true);
    clear.invoke(null);
  }

  private static List<String> threads() {
    List<String> found = new ArrayList<>();
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread.getName().startsWith("vread")) {
        found.add(thread.getName());
      }
    }
    return found;
  }
}
