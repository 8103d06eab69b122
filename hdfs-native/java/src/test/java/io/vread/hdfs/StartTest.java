// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.vread.Eventually;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.BeforeClass;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.rules.Timeout;

/**
 * What the first read of a JVM starts and loads: little, because short programs pay for it.
 * {@link StartProgram} reads in a JVM of its own, which prints the name of every class it loads.
 */
public class StartTest {
  @ClassRule public static final Timeout HANG = Timeout.seconds(Eventually.HANG_S);

  private static String output;

  @BeforeClass
  public static void readInANewJvm() throws Exception {
    Process jvm =
        new ProcessBuilder(
                Paths.get(System.getProperty("java.home"), "bin", "java").toString(),
                "-verbose:class",
                "-Djava.library.path=",
                "-cp",
                classPath(),
                StartProgram.class.getName())
            .redirectErrorStream(true)
            .start();
    jvm.getOutputStream().close();
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    byte[] piece = new byte[1 << 16];
    try (InputStream in = jvm.getInputStream()) {
      for (int n = in.read(piece); n >= 0; n = in.read(piece)) {
        all.write(piece, 0, n);
      }
    }
    output = all.toString("UTF-8");
    assertEquals(output, 0, jvm.waitFor());
  }

  /** Surefire's own JVM may have a jar with nothing but a manifest as its class path. */
  private static String classPath() {
    return System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
  }

  /** What the program printed about it. */
  private static String said(String what) {
    Matcher line = Pattern.compile("(?m)^start: " + what + ": (.*)$").matcher(output);
    assertTrue(what + ": " + output, line.find());
    return line.group(1);
  }

  private static List<String> loaded(String regex) {
    List<String> names = new ArrayList<>();
    Matcher name = Pattern.compile(regex).matcher(output);
    while (name.find()) {
      names.add(name.group());
    }
    return names;
  }

  @Test
  public void theProgramHasRead() {
    assertEquals("1", said("builders"));
    assertEquals("null", said("without a library"));
    assertEquals("65536", said("bytes"));
    assertEquals("true", said("right"));
    assertTrue(loaded("io\\.vread\\.hdfs\\.[\\w.]+").contains("io.vread.hdfs.read.Endpoint"));
  }

  @Test
  public void noThreadBeforeTheFirstRead() {
    assertEquals("[]", said("threads before"));
    assertEquals("[vread-client]", said("threads after"));
  }

  /** To start JMX costs more than all else. */
  @Test
  public void jmxIsNotStartedBeforeTheFirstByte() {
    assertEquals(Collections.emptyList(), loaded("javax\\.management\\.\\w+"));
    assertEquals(Collections.emptyList(), loaded("org\\.apache\\.hadoop\\.metrics2\\.\\w+"));
  }

  /** In a new JVM a lambda costs more than a class with a name. */
  @Test
  public void noLambdaBeforeTheFirstByte() {
    List<String> lambdas = loaded("io\\.vread\\.[\\w.$]*\\$\\$Lambda");
    lambdas.removeIf(name -> name.startsWith("io.vread.hdfs.read.FakeBackend$"));
    assertEquals(Collections.emptyList(), lambdas);
  }

  /** Nothing that only later blocks, other hosts or short-circuit reads need. */
  @Test
  public void noClassThatTheFirstReadDoesNotNeed() {
    String late = "StockFileSystems|StockBlock";
    assertEquals(
        Collections.emptyList(), loaded("io\\.vread\\.(\\w+\\.)*(" + late + ")[\\w$]* "));
  }
}
