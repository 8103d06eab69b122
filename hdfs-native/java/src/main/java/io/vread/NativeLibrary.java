// SPDX-License-Identifier: Apache-2.0
package io.vread;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds and loads {@code libvread_jni.so}, once per class loader. VreadReplicaAccessorBuilder and
 * VreadFsDatasetFactory call load() before anything calls a native method.
 *
 * <p>load() tries, in this order: the configured file or folder ({@code io.vread.library.path}),
 * the folders of {@code java.library.path}, and the copy inside the jar. The first file that loads
 * decides. If it has another version, the library is not used and no other file is tried, because
 * the JVM may already have bound methods to it.
 *
 * <p>The first call of load() decides on the configured path. The outcome is kept, so that a
 * failure is not repeated for every block. If no library can be used, one warning says why, and the
 * statistics show the reason.
 *
 * <p>Java 24 and later can refuse all native code ({@code --illegal-native-access=deny}). The
 * warning then names the option that allows native code.
 */
public final class NativeLibrary {
  /**
   * The version of the native methods, which must be the same in jar and library. Increase it with
   * every change of a native method's signature or meaning. The library takes the number from the
   * header that javac makes of this class.
   */
  public static final int VERSION = 1;

  /** The values of {@link #reason}: why the library cannot be used. */
  public static final String MISSING = "no-library";

  public static final String WRONG_VERSION = "wrong-version";

  public static final String NO_NATIVE_ACCESS = "no-native-access";

  private static final Logger LOG = LoggerFactory.getLogger(NativeLibrary.class);
  private static final String FILE = "libvread_jni.so";

  /** Loads a file as {@link System#load} does. */
  interface Loader {
    void load(String file);
  }

  /** Searches for the library at the first call of load() and keeps the outcome, also a failure. */
  static final class Once {
    private final Loader loader;
    private volatile NativeLibrary outcome;

    Once(Loader loader) {
      this.loader = loader;
    }

    NativeLibrary load(String configuredPath) {
      NativeLibrary result = outcome;
      return result != null ? result : search(configuredPath);
    }

    private synchronized NativeLibrary search(String configuredPath) {
      if (outcome == null) {
        outcome = NativeLibrary.search(configuredPath, loader);
      }
      return outcome;
    }
  }

  /** The loader of the process. */
  private static final class SystemLoader implements Loader {
    @Override
    public void load(String file) {
      System.load(file);
    }
  }

  private static final Once OF_PROCESS = new Once(new SystemLoader());

  private final String path;
  private final String reason;

  private NativeLibrary(String path, String reason) {
    this.path = path;
    this.reason = reason;
  }

  /** Loads the library, unless an earlier call tried. configuredPath may be null or empty. */
  public static NativeLibrary load(String configuredPath) {
    return OF_PROCESS.load(configuredPath);
  }

  public boolean usable() {
    return reason == null;
  }

  /** One of the reasons above, or null if the library can be used. */
  public String reason() {
    return reason;
  }

  /** The file that was loaded, empty if none was. */
  public String path() {
    return path;
  }

  private static native int version();

  private static NativeLibrary search(String configuredPath, Loader loader) {
    List<String> complaints = new ArrayList<>();
    try {
      for (Path candidate : candidates(configuredPath)) {
        if (Files.exists(candidate) && loads(loader, candidate, complaints)) {
          return checked(candidate.toString());
        }
      }
      if (loadsFromJar(loader, complaints)) {
        return checked("jar:" + resource());
      }
    } catch (RuntimeException | LinkageError e) { // not the file's fault: others would fail too
      if (isRefusal(e)) {
        LOG.warn(
            "vread: this Java allows no native code, blocks are read by TCP; start it with "
                + "--enable-native-access=ALL-UNNAMED: {}",
            e.toString());
        return new NativeLibrary("", NO_NATIVE_ACCESS);
      }
      complaints.add(e.toString());
    }
    LOG.warn(
        "vread: {} cannot be loaded, blocks are read by TCP; install it in a folder of "
            + "java.library.path or set io.vread.library.path: {}",
        FILE,
        complaints);
    return new NativeLibrary("", MISSING);
  }

  /** True if Java refuses native code. Compares names, because Java 8 does not have the class. */
  private static boolean isRefusal(Throwable e) {
    return e.getClass().getName().equals("java.lang.IllegalCallerException");
  }

  private static List<Path> candidates(String configuredPath) {
    List<Path> result = new ArrayList<>();
    if (configuredPath != null && !configuredPath.isEmpty()) {
      Path configured = Paths.get(configuredPath).toAbsolutePath();
      result.add(Files.isDirectory(configured) ? configured.resolve(FILE) : configured);
    }
    for (String folder : System.getProperty("java.library.path", "").split(File.pathSeparator)) {
      if (!folder.isEmpty()) {
        result.add(Paths.get(folder, FILE).toAbsolutePath());
      }
    }
    return result;
  }

  /**
   * Loads the file. If another class loader of this JVM has loaded it already, the JVM refuses the
   * file, and a copy is loaded instead.
   */
  private static boolean loads(Loader loader, Path file, List<String> complaints) {
    try {
      loader.load(file.toString());
      return true;
    } catch (UnsatisfiedLinkError e) {
      String message = String.valueOf(e.getMessage());
      if (!message.contains("already loaded in another classloader")) {
        complaints.add(file + ": " + message);
        return false;
      }
    }
    try (InputStream in = Files.newInputStream(file)) {
      return loadsCopy(loader, in, file.toString(), complaints);
    } catch (IOException e) {
      complaints.add(file + ": " + e);
      return false;
    }
  }

  private static boolean loadsFromJar(Loader loader, List<String> complaints) {
    try (InputStream in = NativeLibrary.class.getResourceAsStream(resource())) {
      if (in == null) {
        complaints.add("the jar has no " + resource());
        return false;
      }
      return loadsCopy(loader, in, "jar:" + resource(), complaints);
    } catch (IOException e) {
      complaints.add("jar:" + resource() + ": " + e);
      return false;
    }
  }

  /**
   * Loads a temporary copy. The copy is deleted as soon as it is mapped, so that nothing is left
   * behind, however the JVM ends.
   */
  private static boolean loadsCopy(
      Loader loader, InputStream in, String what, List<String> complaints) throws IOException {
    Path copy = Files.createTempFile("libvread_jni-", ".so", ownerOnly());
    try {
      Files.copy(in, copy, StandardCopyOption.REPLACE_EXISTING);
      loader.load(copy.toString());
      return true;
    } catch (UnsatisfiedLinkError e) {
      complaints.add(what + " as " + copy + ": " + e.getMessage());
      return false;
    } finally {
      Files.deleteIfExists(copy);
    }
  }

  private static FileAttribute<?>[] ownerOnly() {
    if (!FileSystems.getDefault().supportedFileAttributeViews().contains("posix")) {
      return new FileAttribute<?>[0];
    }
    return new FileAttribute<?>[] {
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"))
    };
  }

  private static String resource() {
    String arch = System.getProperty("os.arch", "unknown");
    return "/native/linux-" + ("amd64".equals(arch) ? "x86_64" : arch) + "/" + FILE;
  }

  private static NativeLibrary checked(String path) {
    int version;
    try {
      version = version();
    } catch (UnsatisfiedLinkError e) {
      version = 0;
    }
    if (version != VERSION) {
      LOG.warn(
          "vread: {} has interface version {}, this jar needs {}, blocks are read by TCP; "
              + "install jar and library of one release",
          path,
          version,
          VERSION);
      return new NativeLibrary(path, WRONG_VERSION);
    }
    LOG.debug("vread: loaded {}", path);
    return new NativeLibrary(path, null);
  }
}
