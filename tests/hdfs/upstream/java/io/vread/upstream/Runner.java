// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.upstream;

import java.io.FileWriter;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs one class of Hadoop's own tests, of JUnit 4 or 5, and writes the verdict of each method into
 * a file. tests/hdfs/upstream starts it, in a JVM of its own for each class.
 *
 * <p>Usage: {@code Runner VERDICTS CLASS [METHOD LEFT OUT...]}. A line of the file is a verdict, a
 * tab, the method's name, a tab, and the first line of the failure. The verdict "began" is followed
 * by another one, unless the JVM ended meanwhile.
 *
 * <p>The time limits that methods of JUnit 5 have are off: they include the start of a cluster, and
 * a busy machine decides whether ten seconds are enough. Those of JUnit 4 cannot be turned off.
 */
public final class Runner implements TestExecutionListener {
  private final PrintWriter verdicts;
  private TestPlan plan;

  private Runner(PrintWriter verdicts) {
    this.verdicts = verdicts;
  }

  public static void main(String[] arguments) throws Exception {
    Set<String> leftOut = new HashSet<>(Arrays.asList(arguments).subList(2, arguments.length));
    LauncherDiscoveryRequest request =
        LauncherDiscoveryRequestBuilder.request()
            .selectors(DiscoverySelectors.selectClass(arguments[1]))
            .configurationParameter("junit.jupiter.execution.timeout.mode", "disabled")
            .filters(without(leftOut))
            .build();
    try (PrintWriter out = new PrintWriter(new FileWriter(arguments[0]), true)) {
      LauncherFactory.create().execute(request, new Runner(out));
    }
    writeStatistics();
    System.exit(0); // threads that a test left behind must not keep the JVM
  }

  /**
   * The end of the JVM does not write them: MiniDFSCluster.shutdown() removes all hooks of Hadoop's
   * ShutdownHookManager. The bean that writes them is there a second after the first block.
   */
  private static void writeStatistics() throws JMException, InterruptedException {
    MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
    ObjectName client = new ObjectName("io.vread:type=Client");
    while (!beans.isRegistered(client) && pluginIsAtWork()) {
      Thread.sleep(10);
    }
    if (beans.isRegistered(client)) {
      beans.invoke(client, "writeStatistics", null, null);
    }
  }

  private static boolean pluginIsAtWork() {
    return Thread.getAllStackTraces().keySet().stream()
        .anyMatch(thread -> thread.getName().equals("vread-client"));
  }

  private static PostDiscoveryFilter without(Set<String> leftOut) {
    return descriptor ->
        FilterResult.includedIf(
            !methodName(descriptor.getSource()).map(leftOut::contains).orElse(false));
  }

  private static Optional<String> methodName(Optional<TestSource> source) {
    return source
        .filter(MethodSource.class::isInstance)
        .map(method -> ((MethodSource) method).getMethodName());
  }

  @Override
  public void testPlanExecutionStarted(TestPlan plan) {
    this.plan = plan;
  }

  @Override
  public void executionStarted(TestIdentifier test) {
    if (test.isTest()) {
      say("began", test, "");
    }
  }

  @Override
  public void executionSkipped(TestIdentifier test, String reason) {
    say("skipped", test, reason);
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    String why = result.getThrowable().map(Throwable::toString).orElse("");
    result.getThrowable().ifPresent(Throwable::printStackTrace);
    switch (result.getStatus()) {
      case FAILED:
        say("failed", test, why);
        break;
      case ABORTED:
        say("skipped", test, why);
        break;
      default:
        if (test.isTest()) {
          say("passed", test, "");
        }
    }
  }

  /**
   * The name below the class: the method's, after those of the parameters that the class runs with.
   * What fails for the whole class, as in a method annotated BeforeAll, is "(class)".
   */
  private String name(TestIdentifier test) {
    Deque<String> names = new ArrayDeque<>();
    for (Optional<TestIdentifier> each = Optional.of(test);
        each.isPresent();
        each = plan.getParent(each.get())) {
      names.push(each.get().getDisplayName().replace("()", ""));
    }
    return names.size() > 2
        ? String.join("/", new ArrayList<>(names).subList(2, names.size()))
        : "(class)";
  }

  private void say(String verdict, TestIdentifier test, String why) {
    String line = why.split("\n", 2)[0].replace('\t', ' ');
    verdicts.println(verdict + "\t" + name(test) + "\t" + line);
  }
}
