// SPDX-License-Identifier: Apache-2.0
package io.vread;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds and loads {@code libvread_jni.so}, once per class loader. Nothing may call a native method
 * before load() has returned a usable library.
 *
 * <p>load() tries, in this order: the configured file or folder ({@code io.vread.library.path}),
 * the folders of {@code java.library.path}, and the copy inside the jar. The first file that loads
 * decides. If it has another version, the library is not used and no other file is tried, because
 * the JVM may already have bound methods to it.
 *
 * <p>A failure is either of the installation or of the moment. A failure of the installation is
 * kept for the life of the process: a missing or corrupt file, a wrong version, native code that is
 * refused. A failure of the moment is a shortage of descriptors, memory or temporary space, or an
 * interrupt. After such a failure load() tries again, at first after a second and at most every 30
 * seconds, so that not every block pays for an attempt. One warning says why no library can be
 * used, and the statistics show the reason.
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
  public static final int VERSION = 3;

  /** The values of {@link #reason}: why the library cannot be used. */
  public static final String MISSING = "no-library";

  /** The only failure of the moment. */
  public static final String MISSING_NOW = "no-library-now";

  public static final String WRONG_VERSION = "wrong-version";

  public static final String NO_NATIVE_ACCESS = "no-native-access";

  private static final Logger LOG = LoggerFactory.getLogger(NativeLibrary.class);
  private static final String FILE = "libvread_jni.so";
  private static final String ARCH = System.getProperty("os.arch", "unknown");
  private static final String RESOURCE =
      "/native/linux-" + ("amd64".equals(ARCH) ? "x86_64" : ARCH) + "/" + FILE;

  private static final long FIRST_PAUSE_MS = 1000;
  private static final long LONGEST_PAUSE_MS = 30_000;

  /** What glibc's texts of EMFILE, ENFILE, ENOMEM and ENOSPC have in common with nothing else. */
  private static final Pattern SHORTAGE =
      Pattern.compile("Too many open files|Cannot allocate memory|No space left on device");

  private static final Attempts OF_PROCESS = new Attempts(Clock.SYSTEM);

  private final String path;
  private final String reason;

  private NativeLibrary(String path, String reason) {
    this.path = path;
    this.reason = reason;
  }

  /** Loads the library, unless an earlier call has decided. configuredPath may be null or empty. */
  public static NativeLibrary load(String configuredPath) {
    return OF_PROCESS.load(configuredPath);
  }

  public boolean usable() {
    return reason == null;
  }

  /** True if the library cannot be used for now: a later call of load() tries again. */
  public boolean mayLoadLater() {
    return MISSING_NOW.equals(reason);
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

  /** Loads the library with the first call of load(), or later if an attempt failed for now. */
  static class Attempts {
    private final Clock clock;
    private long pauseMs = FIRST_PAUSE_MS;
    private volatile long nextAttempt;
    private volatile NativeLibrary outcome; // of the last attempt; null: there was none
    private List<String> failures; // of this attempt
    private boolean ofTheMoment; // at least one of the failures

    Attempts(Clock clock) {
      this.clock = clock;
    }

    /** Loads a file as {@link System#load} does. Tests override it. */
    void loadFile(String file) {
      System.load(file);
    }

    /** The version of the file that was loaded. Tests override it. */
    int loadedVersion() {
      return version();
    }

    final NativeLibrary load(String configuredPath) {
      NativeLibrary last = outcome;
      return isDue(last) ? attempt(configuredPath) : last;
    }

    private boolean isDue(NativeLibrary last) {
      return last == null || (last.mayLoadLater() && clock.now() >= nextAttempt);
    }

    private synchronized NativeLibrary attempt(String configuredPath) {
      NativeLibrary last = outcome;
      if (isDue(last)) { // else another thread made the attempt meanwhile
        nextAttempt = clock.now() + pauseMs;
        pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
        outcome = search(configuredPath, last != null);
      }
      return outcome;
    }

    /** again: an earlier attempt failed for the moment, and has warned. */
    private NativeLibrary search(String configuredPath, boolean again) {
      failures = new ArrayList<>();
      ofTheMoment = false;
      try {
        for (Path candidate : candidates(configuredPath)) {
          if (Files.exists(candidate) && loads(candidate)) {
            return checked(candidate.toString(), again);
          }
        }
        if (loadsFromJar()) {
          return checked("jar:" + RESOURCE, again);
        }
      } catch (RuntimeException | LinkageError e) { // not the file's fault: others would fail too
        if (isRefusal(e)) {
          LOG.warn(
              "vread: this Java allows no native code, blocks are read by TCP; start it with "
                  + "--enable-native-access=ALL-UNNAMED: {}",
              e.toString());
          return new NativeLibrary("", NO_NATIVE_ACCESS);
        }
        failed(e.toString(), false);
      } catch (VirtualMachineError e) { // e.g. no memory
        failed(e.toString(), true);
      }
      return notLoaded(again);
    }

    /** Warns of the failures, but only once of failures of the moment. */
    private NativeLibrary notLoaded(boolean again) {
      if (!ofTheMoment) {
        LOG.warn(
            "vread: {} cannot be loaded, blocks are read by TCP; install it in a folder of "
                + "java.library.path or set io.vread.library.path: {}",
            FILE,
            failures);
      } else if (again) {
        LOG.debug("vread: {} still cannot be loaded: {}", FILE, failures);
      } else {
        LOG.warn(
            "vread: {} cannot be loaded now, blocks are read by TCP; this process or host is short "
                + "of descriptors, memory or space in java.io.tmpdir; next attempts every {} to {} "
                + "s: {}",
            FILE,
            FIRST_PAUSE_MS / 1000,
            LONGEST_PAUSE_MS / 1000,
            failures);
      }
      return new NativeLibrary("", ofTheMoment ? MISSING_NOW : MISSING);
    }

    /**
     * Loads the file. If another class loader of this JVM has loaded it already, the JVM refuses
     * the file, and a copy is loaded instead.
     */
    private boolean loads(Path file) {
      try {
        loadFile(file.toString());
        return true;
      } catch (UnsatisfiedLinkError e) {
        String message = String.valueOf(e.getMessage());
        if (!message.contains("already loaded in another classloader")) {
          failed(file + ": " + message, isShortage(message, file));
          return false;
        }
      }
      try (InputStream in = Files.newInputStream(file)) {
        return loadsCopy(in, file.toString());
      } catch (IOException e) {
        failed(file + ": " + e, Files.isReadable(file));
        return false;
      }
    }

    private boolean loadsFromJar() {
      try (InputStream in = NativeLibrary.class.getResourceAsStream(RESOURCE)) {
        if (in != null) {
          return loadsCopy(in, "jar:" + RESOURCE);
        }
        boolean unopened = NativeLibrary.class.getResource(RESOURCE) != null;
        failed((unopened ? "cannot open " : "the jar has no ") + RESOURCE, unopened);
      } catch (IOException e) {
        failed("jar:" + RESOURCE + ": " + e, true);
      }
      return false;
    }

    /**
     * Loads a temporary copy. The copy is deleted as soon as it is mapped, so that nothing is left
     * behind, however the JVM ends.
     */
    private boolean loadsCopy(InputStream in, String what) throws IOException {
      Path copy = null;
      try {
        copy = Files.createTempFile("libvread_jni-", ".so"); // only the owner has access
        Files.copy(in, copy, StandardCopyOption.REPLACE_EXISTING);
        loadFile(copy.toString());
        return true;
      } catch (UnsatisfiedLinkError e) {
        String message = String.valueOf(e.getMessage());
        failed(what + " as " + copy + ": " + message, isShortage(message, copy));
      } catch (IOException e) { // for the moment, unless the folder is missing or read-only
        Path folder = Paths.get(System.getProperty("java.io.tmpdir"));
        failed(what + ": " + e, Files.isDirectory(folder) && Files.isWritable(folder));
      } finally {
        if (copy != null) {
          Files.deleteIfExists(copy);
        }
      }
      return false;
    }

    private List<Path> candidates(String configuredPath) {
      List<Path> result = new ArrayList<>();
      Path configured = path(configuredPath);
      if (configured != null) {
        result.add(Files.isDirectory(configured) ? configured.resolve(FILE) : configured);
      }
      for (String each : System.getProperty("java.library.path", "").split(File.pathSeparator)) {
        Path folder = path(each);
        if (folder != null) {
          result.add(folder.resolve(FILE));
        }
      }
      return result;
    }

    /**
     * Null: it is empty, or no path, such as one with characters that the locale lacks. Then the
     * other candidates are tried.
     */
    private Path path(String text) {
      try {
        return text == null || text.isEmpty() ? null : Paths.get(text).toAbsolutePath();
      } catch (InvalidPathException e) {
        failed(e.toString(), false);
        return null;
      }
    }

    private void failed(String text, boolean momentary) {
      failures.add(text);
      ofTheMoment |= momentary;
    }

    private NativeLibrary checked(String path, boolean again) {
      int version;
      try {
        version = loadedVersion();
      } catch (UnsatisfiedLinkError e) {
        LOG.warn(
            "vread: {} has no methods of {}, blocks are read by TCP; if a build has relocated the "
                + "classes of this jar, let it leave them under the names in the jar: {}",
            path,
            NativeLibrary.class.getName(),
            e.toString());
        return new NativeLibrary(path, WRONG_VERSION);
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
      if (again) {
        LOG.info("vread: loaded {}", path);
      } else {
        LOG.debug("vread: loaded {}", path);
      }
      return new NativeLibrary(path, null);
    }
  }

  /**
   * True if the message of the dynamic linker is about a shortage. It may be in the language of the
   * user. So a file that may be read and cannot be opened counts as well.
   */
  private static boolean isShortage(String message, Path file) {
    if (SHORTAGE.matcher(message).find()) {
      return true;
    }
    try {
      Files.newInputStream(file).close();
      return false;
    } catch (IOException e) {
      return Files.isReadable(file);
    }
  }

  /** True if Java refuses native code. Compares names, because Java 8 does not have the class. */
  private static boolean isRefusal(Throwable e) {
    return e.getClass().getName().equals("java.lang.IllegalCallerException");
  }
}
