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
 * A JVM that cannot load the library. Each test loads the library several times: only the first
 * time may try, and there must be one warning.
 */
public class NativeLibraryTest {
  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  private final StringWriter logged = new StringWriter();
  private final WriterAppender appender = new WriterAppender(new SimpleLayout(), logged);
  private final List<String> asked = new ArrayList<>();

  @Before
  public void readTheLog() {
    Logger.getLogger(NativeLibrary.class).addAppender(appender);
  }

  @After
  public void leaveTheLog() {
    Logger.getLogger(NativeLibrary.class).removeAppender(appender);
  }

  /** The library's file exists, and loading it throws {@code failure}. */
  private NativeLibrary.Once failing(Throwable failure) {
    return new NativeLibrary.Once(
        file -> {
          asked.add(file);
          NativeLibraryTest.<RuntimeException>raise(failure);
        });
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

  private void assertOneFailure(NativeLibrary.Once once, String reason) throws Exception {
    NativeLibrary library = once.load(path());
    assertFalse(library.usable());
    assertEquals(reason, library.reason());
    int tries = asked.size();
    for (int block = 0; block < 3; block++) {
      assertSame(library, once.load(path()));
    }
    assertEquals("asked again for the next block", tries, asked.size());
    assertEquals(logged.toString(), 1, logged.toString().split("WARN", -1).length - 1);
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
}
