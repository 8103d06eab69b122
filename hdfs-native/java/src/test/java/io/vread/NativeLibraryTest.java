// SPDX-License-Identifier: Apache-2.0
package io.vread;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertTrue;

import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.log4j.Logger;
import org.apache.log4j.SimpleLayout;
import org.apache.log4j.WriterAppender;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * A JVM that cannot load the library. A failure of the installation is kept, one of the moment is
 * tried again, and either gives one warning.
 */
public class NativeLibraryTest {
  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  private final StringWriter logged = new StringWriter();
  private final WriterAppender appender = new WriterAppender(new SimpleLayout(), logged);
  private final List<String> asked = new ArrayList<>();
  private final FakeClock clock = new FakeClock();
  private Throwable failure; // null: the file can be loaded

  @Before
  public void readTheLog() {
    Logger.getLogger(NativeLibrary.class).addAppender(appender);
  }

  @After
  public void leaveTheLog() {
    Logger.getLogger(NativeLibrary.class).removeAppender(appender);
  }

  /** Throws {@code failure}; else loads a library of the right version. */
  private final class FakeAttempts extends NativeLibrary.Attempts {
    FakeAttempts() {
      super(clock);
    }

    @Override
    void loadFile(String file) {
      asked.add(file);
      if (failure != null) {
        NativeLibraryTest.<RuntimeException>raise(failure);
      }
    }

    @Override
    int loadedVersion() {
      return NativeLibrary.VERSION;
    }
  }

  private NativeLibrary.Attempts failing(Throwable with) {
    asked.clear();
    logged.getBuffer().setLength(0);
    failure = with;
    return new FakeAttempts();
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> void raise(Throwable failure) throws T {
    throw (T) failure;
  }

  private String path() throws Exception {
    Path file = folder.getRoot().toPath().resolve("libvread_jni.so");
    if (!Files.exists(file)) {
      Files.createFile(file);
    }
    return file.toString();
  }

  private void assertWarnings(int expected) {
    assertEquals(logged.toString(), expected, logged.toString().split("WARN", -1).length - 1);
  }

  private void assertOneFailure(NativeLibrary.Attempts attempts, String reason) throws Exception {
    NativeLibrary library = attempts.load(path());
    assertFalse(library.usable());
    assertEquals(reason, library.reason());
    int tries = asked.size();
    for (int block = 0; block < 3; block++) {
      assertSame(library, attempts.load(path()));
      clock.pass(3_600_000);
    }
    assertFalse(library.mayLoadLater());
    assertEquals("asked again for the next block", tries, asked.size());
    assertWarnings(1);
  }

  /** The file is asked for at these times after the first, in seconds, and at no other. */
  private void assertAttemptsAfter(NativeLibrary.Attempts attempts, int... seconds)
      throws Exception {
    int passed = 0;
    for (int second : seconds) {
      int tries = asked.size();
      clock.pass(1000L * (second - passed) - 1);
      assertEquals("no-library-now", attempts.load(path()).reason());
      assertEquals("tried before " + second, tries, asked.size());
      clock.pass(1);
      assertEquals("no-library-now", attempts.load(path()).reason());
      assertEquals("not tried after " + second, tries + 1, asked.size());
      passed = second;
    }
  }

  /**
   * Loading throws what Java 24 and later throw if native access is denied. No other file may be
   * tried, and the warning must name the option. The test also runs on older versions of Java.
   */
  @Test
  public void aJavaThatAllowsNoNativeCode() throws Exception {
    Class<?> refusal = Class.forName("java.lang.IllegalCallerException");
    Object thrown = refusal.getConstructor(String.class).newInstance("Illegal native access");
    assertOneFailure(failing((Throwable) thrown), "no-native-access");
    assertEquals("no other file is tried", 1, asked.size());
    assertTrue(logged.toString().contains("--enable-native-access=ALL-UNNAMED"));
  }

  @Test
  public void whateverElseLoadingThrows() throws Exception {
    for (Throwable failure :
        new Throwable[] {
          new SecurityException("not by this policy"), new LinkageError("not this library")
        }) {
      asked.clear();
      logged.getBuffer().setLength(0);
      assertOneFailure(failing(failure), "no-library");
      assertTrue(logged.toString(), logged.toString().contains(failure.getMessage()));
    }
  }

  @Test
  public void aFileThatIsNoLibrary() throws Exception {
    assertOneFailure(failing(new UnsatisfiedLinkError("file too short")), "no-library");
    assertTrue(logged.toString(), logged.toString().contains(path() + ": file too short"));
  }

  @Test
  public void aFailureOfTheMomentIsTriedAgain() throws Exception {
    for (Throwable shortage :
        new Throwable[] {
          new UnsatisfiedLinkError("cannot open shared object file: Too many open files"),
          new UnsatisfiedLinkError("failed to map segment: Cannot allocate memory"),
          new OutOfMemoryError("unable to create native thread")
        }) {
      NativeLibrary.Attempts attempts = failing(shortage);
      NativeLibrary first = attempts.load(path());
      assertEquals("no-library-now", first.reason());
      assertTrue(first.mayLoadLater());
      assertFalse(first.usable());
      assertAttemptsAfter(attempts, 1, 3, 7, 15, 31, 61, 91);
      assertWarnings(1);
      failure = null;
      clock.pass(30_000);
      assertTrue(attempts.load(path()).usable());
      assertTrue(logged.toString(), logged.toString().contains("INFO - vread: loaded " + path()));
    }
  }

  /** What becomes of a failure of the moment may be a failure of the installation. */
  @Test
  public void aFailureOfTheMomentMayBecomeOneOfTheInstallation() throws Exception {
    NativeLibrary.Attempts attempts = failing(new OutOfMemoryError("for now"));
    assertEquals("no-library-now", attempts.load(path()).reason());
    failure = new UnsatisfiedLinkError("file too short");
    clock.pass(1000);
    assertEquals("no-library", attempts.load(path()).reason());
    int tries = asked.size();
    clock.pass(3_600_000);
    assertEquals("no-library", attempts.load(path()).reason());
    assertEquals(tries, asked.size());
    assertWarnings(2);
  }
}
