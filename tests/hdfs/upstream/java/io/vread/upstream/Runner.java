// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.upstream;

import java.io.FileWriter;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.junit.runner.Description;
import org.junit.runner.JUnitCore;
import org.junit.runner.Request;
import org.junit.runner.manipulation.Filter;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/**
 * Runs one JUnit 4 class of Hadoop's own tests, and writes the verdict of each method into a file.
 * tests/hdfs/upstream starts it, in a JVM of its own for each class.
 *
 * <p>Usage: {@code Runner VERDICTS CLASS [METHOD LEFT OUT...]}. A line of the file is a verdict, a
 * tab, the method's name, a tab, and the first line of the failure. The verdict "began" is followed
 * by another one, unless the JVM ended meanwhile.
 */
public final class Runner extends RunListener {
  private final PrintWriter verdicts;
  private final Set<String> decided = new HashSet<>();

  private Runner(PrintWriter verdicts) {
    this.verdicts = verdicts;
  }

  public static void main(String[] arguments) throws Exception {
    Set<String> leftOut = new HashSet<>(Arrays.asList(arguments).subList(2, arguments.length));
    Request request = Request.aClass(Class.forName(arguments[1])).filterWith(without(leftOut));
    try (PrintWriter out = new PrintWriter(new FileWriter(arguments[0]), true)) {
      JUnitCore core = new JUnitCore();
      core.addListener(new Runner(out));
      core.run(request);
    }
    writeStatistics();
    System.exit(0); // threads that a test left behind must not keep the JVM
  }

  /**
   * The end of the JVM does not write them: MiniDFSCluster.shutdown() removes all hooks of Hadoop's
   * ShutdownHookManager. The bean that writes them is there a second after the first block, or once
   * its thread is interrupted.
   */
  private static void writeStatistics() throws JMException, InterruptedException {
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread.getName().equals("vread-metrics")) {
        thread.interrupt();
        thread.join();
      }
    }
    MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
    ObjectName client = new ObjectName("io.vread:type=Client");
    if (beans.isRegistered(client)) {
      beans.invoke(client, "writeStatistics", null, null);
    }
  }

  private static Filter without(Set<String> leftOut) {
    return new Filter() {
      @Override
      public boolean shouldRun(Description description) {
        return !description.isTest() || !leftOut.contains(description.getMethodName());
      }

      @Override
      public String describe() {
        return "without " + leftOut;
      }
    };
  }

  @Override
  public void testStarted(Description description) {
    say("began", description, "");
  }

  @Override
  public void testFailure(Failure failure) {
    decided.add(name(failure.getDescription()));
    say("failed", failure.getDescription(), String.valueOf(failure.getException()));
    System.err.println(failure.getTrace());
  }

  @Override
  public void testAssumptionFailure(Failure failure) {
    decided.add(name(failure.getDescription()));
    say("skipped", failure.getDescription(), String.valueOf(failure.getMessage()));
  }

  @Override
  public void testIgnored(Description description) {
    say("skipped", description, "");
  }

  @Override
  public void testFinished(Description description) {
    if (!decided.contains(name(description))) {
      say("passed", description, "");
    }
  }

  /** Failures of a whole class, for example in a method annotated BeforeClass, have no method. */
  private static String name(Description description) {
    return description.isTest() ? description.getMethodName() : "(class)";
  }

  private void say(String verdict, Description description, String why) {
    String line = why.split("\n", 2)[0].replace('\t', ' ');
    verdicts.println(verdict + "\t" + name(description) + "\t" + line);
  }
}
