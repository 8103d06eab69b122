// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.io.IOException;
import java.lang.ref.WeakReference;
import java.lang.reflect.Method;
import java.net.URI;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Options.HandleOpt;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathHandle;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.hdfs.DFSInputStream;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.client.HdfsDataInputStream;
import org.apache.hadoop.hdfs.protocol.HdfsFileStatus;
import org.apache.hadoop.hdfs.protocol.HdfsLocatedFileStatus;
import org.apache.hadoop.hdfs.protocol.LocatedBlocks;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Scenarios after public reports about other programs that give HDFS a client, a configuration or a
 * file system of their own. matrix/test_reported.py names the reports.
 */
final class Reported {
  private static final String OPEN_WITH_LOCATIONS = "openInternal";
  private static final long COLLECTED_MS = 60_000;

  private Reported() {}

  static void register(Map<String, Scenario> scenarios) {
    scenarios.put("wrapped-configuration", Reported::wrappedConfiguration);
    scenarios.put("wrapped-file-context", Reported::wrappedFileContext);
    scenarios.put("closed-file-system", Reported::closedFileSystem);
    scenarios.put("read-kept-stream", Reported::readKeptStream);
    scenarios.put("names", Reported::names);
    scenarios.put("mounted", Reported::mounted);
    scenarios.put("users-come-and-go", Reported::usersComeAndGo);
    scenarios.put("listed", Reported::listed);
  }

  // ---- configurations --------------------------------------------------------------------------

  /** A Configuration that keeps no property itself, as Presto's. All reads go to another one. */
  private static final class Wrapped extends Configuration {
    private final Configuration inner;

    Wrapped(Configuration inner) {
      this.inner = inner;
    }

    @Override
    public String get(String name) {
      return inner.get(name);
    }

    @Override
    public String get(String name, String otherwise) {
      return inner.get(name, otherwise);
    }

    @Override
    public String getRaw(String name) {
      return inner.getRaw(name);
    }

    @Override
    public int size() {
      return inner.size();
    }

    @Override
    public Iterator<Map.Entry<String, String>> iterator() {
      return inner.iterator();
    }
  }

  private static Configuration conf(Context context, Args args) {
    return args.text("by").equals("vread") ? context.vreadConf : context.stockConf;
  }

  /** Reads by a file system with a wrapped configuration. "replication": what its client knows. */
  private static Map<String, Object> wrappedConfiguration(Context context, Args args)
      throws Exception {
    Content file = context.file(args);
    Configuration inner = new Configuration(conf(context, args));
    inner.setLong("dfs.replication", args.number("replication", 1));
    try (DistributedFileSystem fs = context.newClient(new Wrapped(inner))) {
      return Map.of(
          "bytes", Reading.once(fs, file, Ways.all().get("1m")),
          "replication", fs.getDefaultReplication(file.path));
    }
  }

  private static Map<String, Object> wrappedFileContext(Context context, Args args)
      throws Exception {
    Content file = context.file(args);
    Configuration inner = conf(context, args);
    FileContext files =
        FileContext.getFileContext(FileSystem.getDefaultUri(inner), new Wrapped(inner));
    try (FSDataInputStream in = files.open(file.path)) {
      return Map.of("bytes", Ways.all().get("1m").read(in, file, new Random(1)));
    }
  }

  // ---- the order of closing --------------------------------------------------------------------

  /** Closes the file system before its stream. "left": whether the stream was not collected. */
  private static Map<String, Object> closedFileSystem(Context context, Args args)
      throws Exception {
    Content file = context.file(args);
    Map<String, Object> result = new LinkedHashMap<>();
    WeakReference<Object> stream = closeBeforeItsStream(context, args, file, result);
    result.put(
        "left",
        !Awaiting.within(
            COLLECTED_MS,
            () -> {
              System.gc();
              return stream.get() == null;
            }));
    return result;
  }

  private static WeakReference<Object> closeBeforeItsStream(
      Context context, Args args, Content file, Map<String, Object> result) throws Exception {
    DistributedFileSystem fs = context.newClient(conf(context, args));
    FSDataInputStream in = fs.open(file.path);
    byte[] half = new byte[file.bytes.length / 2];
    in.readFully(half);
    file.check(0, half, 0, half.length);
    result.put("bytes", half.length);
    fs.close();
    result.put("read", thrownBy(() -> in.read(half)));
    result.put("pread", thrownBy(() -> in.readFully(0, half)));
    result.put("close", thrownBy(in::close));
    result.put("again", thrownBy(in::close));
    return new WeakReference<>(in.getWrappedStream());
  }

  /** Reads a little by a stream of its own, which stays open, so that the client is not idle. */
  private static Map<String, Object> readKeptStream(Context context, Args args) throws Exception {
    Content file = context.file(args);
    if (context.keptStream == null) {
      context.keptStream = context.vread.open(file.path);
    }
    byte[] some = new byte[100];
    context.keptStream.readFully(0, some);
    file.check(0, some, 0, some.length);
    return Map.of("bytes", some.length);
  }

  private interface Step {
    void run() throws IOException;
  }

  private static String thrownBy(Step step) {
    try {
      step.run();
      return "nothing";
    } catch (IOException e) {
      return e.getClass().getName() + ": " + e.getMessage();
    }
  }

  // ---- names of a file -------------------------------------------------------------------------

  /** Opens one file by each name and handle that HDFS has for it, and reads it in two ways. */
  private static Map<String, Object> names(Context context, Args args) throws Exception {
    DistributedFileSystem fs = context.client(args.text("by"));
    String folder = "/names of-" + args.text("by");
    Content file =
        Content.write(context, folder + "/it's 100%25+[a]=\u00e9", Content.random(3, 1_500_001));
    FileStatus status = fs.getFileStatus(file.path);
    Map<String, Object> bytes = new LinkedHashMap<>();
    String path = file.path.toUri().getPath();
    bytes.put("path", readTwice(fs.open(file.path), file));
    bytes.put("uri", readTwice(fs.open(fs.makeQualified(file.path)), file));
    Path inode = new Path("/.reserved/.inodes/" + ((HdfsFileStatus) status).getFileId());
    bytes.put("inode", readTwice(fs.open(inode), file));
    bytes.put("raw", readTwice(fs.open(new Path("/.reserved/raw" + path)), file));
    fs.setWorkingDirectory(new Path(folder));
    bytes.put("relative", readTwice(fs.open(new Path(file.path.getName())), file));
    fs.setWorkingDirectory(fs.getHomeDirectory());
    Map<String, PathHandle> handles = new LinkedHashMap<>();
    handles.put("exact", fs.getPathHandle(status, HandleOpt.exact()));
    handles.put("content", fs.getPathHandle(status, HandleOpt.content()));
    handles.put("handle of path", fs.getPathHandle(status, HandleOpt.path()));
    handles.put("reference", fs.getPathHandle(status, HandleOpt.reference()));
    for (Map.Entry<String, PathHandle> each : handles.entrySet()) {
      bytes.put(each.getKey(), readTwice(fs.open(each.getValue()), file));
    }
    Path moved = new Path(folder, "moved");
    context.stock.rename(file.path, moved);
    bytes.put("moved content", readTwice(fs.open(handles.get("content")), file));
    bytes.put("moved reference", readTwice(fs.open(handles.get("reference")), file));
    bytes.put("moved inode", readTwice(fs.open(inode), file));
    Content other = Content.write(context, file.path.toString(), Content.random(4, 1_500_001));
    bytes.put("another of the name", readTwice(fs.open(other.path), other));
    bytes.put("still the inode", readTwice(fs.open(inode), file));
    String refused = thrownBy(() -> fs.open(handles.get("exact")));
    return Map.of(
        "names", bytes,
        "bytes", bytes.values().stream().mapToLong(each -> (Long) each).sum(),
        "refused", refused);
  }

  private static long readTwice(FSDataInputStream opened, Content file) throws Exception {
    try (FSDataInputStream in = opened) {
      return Ways.all().get("1m").read(in, file, new Random(1))
          + Ways.all().get("pread-fully").read(in, file, new Random(1));
    }
  }

  // ---- mount tables ----------------------------------------------------------------------------

  /**
   * Reads a file by its name under a mount point, and by its own name, by a file system whose class
   * is Hadoop's and whose target class is the client's.
   */
  private static Map<String, Object> mounted(Context context, Args args) throws Exception {
    Content file = context.file(args);
    Configuration conf = new Configuration(conf(context, args));
    URI uri = FileSystem.getDefaultUri(conf);
    conf.set(
        "fs.viewfs.overload.scheme.target.hdfs.impl",
        conf.get("fs.hdfs.impl", DistributedFileSystem.class.getName()));
    conf.set("fs.hdfs.impl", args.text("class"));
    String table = "fs.viewfs.mounttable." + uri.getHost();
    conf.set(table + ".linkFallback", uri + "/");
    conf.set(table + ".link./mounted", uri + file.path.getParent().toString());
    conf.setBoolean("fs.viewfs.enable.inner.cache", false);
    try (FileSystem fs = FileSystem.newInstance(uri, conf)) {
      Content there = new Content(new Path("/mounted", file.path.getName()), file.bytes);
      long bytes = 0;
      for (String way : new String[] {"1m", "pread", "vectored"}) {
        bytes += Reading.once(fs, there, Ways.all().get(way));
        bytes += Reading.once(fs, file, Ways.all().get(way));
      }
      return Map.of("bytes", bytes, "class", fs.getClass().getName());
    }
  }

  // ---- what is left of a file system -----------------------------------------------------------

  /** Each of "count" users has a file system, reads and leaves. "left": clients not collected. */
  private static Map<String, Object> usersComeAndGo(Context context, Args args) throws Exception {
    Content file = context.file(args);
    List<WeakReference<Object>> gone = new ArrayList<>();
    long bytes = 0;
    for (long number = 0; number < args.number("count", 1); number++) {
      bytes += comeAndGo(context, args, file, "guest" + number, gone);
    }
    Awaiting.within(COLLECTED_MS, () -> uncollected(gone) == 0);
    return Map.of("bytes", bytes, "left", uncollected(gone));
  }

  private static long comeAndGo(
      Context context, Args args, Content file, String name, List<WeakReference<Object>> gone)
      throws Exception {
    UserGroupInformation user = UserGroupInformation.createRemoteUser(name);
    gone.add(new WeakReference<>(identity(user)));
    Configuration conf = conf(context, args);
    PrivilegedExceptionAction<Long> reading =
        () ->
            args.text("kind").equals("FileContext")
                ? readByFileContext(conf, file, gone)
                : readByFileSystem(conf, file, gone);
    long bytes = user.doAs(reading);
    FileSystem.closeAllForUGI(user);
    return bytes;
  }

  /** What all objects of this class that mean the user refer to. */
  private static Object identity(UserGroupInformation user) throws ReflectiveOperationException {
    Method subject = UserGroupInformation.class.getDeclaredMethod("getSubject");
    subject.setAccessible(true);
    return subject.invoke(user);
  }

  private static long readByFileSystem(
      Configuration conf, Content file, List<WeakReference<Object>> gone) throws Exception {
    DistributedFileSystem fs = (DistributedFileSystem) FileSystem.get(conf);
    gone.add(new WeakReference<>(fs));
    gone.add(new WeakReference<>(fs.getClient()));
    return Reading.once(fs, file, Ways.all().get("1m"))
        + Reading.once(fs, file, Ways.all().get("pread"));
  }

  private static long readByFileContext(
      Configuration conf, Content file, List<WeakReference<Object>> gone) throws Exception {
    FileContext files = FileContext.getFileContext(FileSystem.getDefaultUri(conf), conf);
    gone.add(new WeakReference<>(files.getDefaultFileSystem()));
    try (FSDataInputStream in = files.open(file.path)) {
      return readTwice(in, file);
    }
  }

  private static long uncollected(List<WeakReference<Object>> gone) {
    System.gc();
    return gone.stream().filter(each -> each.get() != null).count();
  }

  // ---- locations that the application has ------------------------------------------------------

  /**
   * Opens a file with its status in a listing. From 3.5.1 on Hadoop then takes the locations in the
   * status and asks no NameNode. What that version does is done here after its answer of the
   * earlier versions was collected.
   */
  private static Map<String, Object> listed(Context context, Args args) throws Exception {
    Content file = context.file(args);
    DistributedFileSystem fs = context.client(args.text("by"));
    LocatedFileStatus status = fs.listLocatedStatus(file.path).next();
    WeakReference<Object> earlier = openWith(fs, status);
    Awaiting.until(
        "the stream's locations collected",
        () -> {
          System.gc();
          return earlier.get() == null;
        });
    Method open =
        DFSClient.class.getDeclaredMethod(
            OPEN_WITH_LOCATIONS, LocatedBlocks.class, String.class, boolean.class);
    open.setAccessible(true);
    LocatedBlocks known = ((HdfsLocatedFileStatus) status).getLocatedBlocks();
    DFSClient client = fs.getClient();
    DFSInputStream opened =
        (DFSInputStream) open.invoke(client, known, file.path.toString(), true);
    return Map.of("bytes", readTwice(client.createWrappedInputStream(opened), file));
  }

  private static WeakReference<Object> openWith(FileSystem fs, LocatedFileStatus status)
      throws Exception {
    try (FSDataInputStream in =
        fs.openFile(status.getPath()).withFileStatus(status).build().get()) {
      return new WeakReference<>(((HdfsDataInputStream) in).getAllBlocks().get(0));
    }
  }
}
