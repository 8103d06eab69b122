// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.vread.check.torture.Torture;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * An HDFS client that runs scenarios for tests, one after the other, in one warm JVM.
 * tests/support/hadoop_client.py starts it.
 *
 * <p>Each line of standard input is a request, a JSON object {"do": NAME, ...}. Each answer is one
 * line: {"ok": true, ...} with the result of the scenario and, under "stats", what the plug-in
 * counted meanwhile; or {"ok": false, "error": ...}. The program's arguments are properties of the
 * configuration, name=value. Names that begin with "check." are for the scenarios.
 */
public final class Client {
  private Client() {}

  public static void main(String[] arguments) throws Exception {
    PrintStream answers = System.out;
    System.setOut(System.err); // so that output of Hadoop's tools is not taken for an answer
    Links.allow();
    ObjectMapper json = new ObjectMapper();
    Map<String, Scenario> scenarios = new HashMap<>();
    Reading.register(scenarios);
    Mistakes.register(scenarios);
    Many.register(scenarios);
    Changing.register(scenarios);
    Special.register(scenarios);
    Elsewhere.register(scenarios);
    Background.register(scenarios);
    Programs.register(scenarios);
    NewKeys.register(scenarios);
    Outage.register(scenarios);
    Counting.register(scenarios);
    Users.register(scenarios);
    Interrupts.register(scenarios);
    ClassLoaders.register(scenarios);
    Reported.register(scenarios);
    scenarios.put("torture", (context, args) -> Torture.run(context.stock, context.vread, args));
    try (Context context = new Context(arguments)) {
      BufferedReader requests =
          new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      String line;
      while ((line = requests.readLine()) != null) {
        Args args = new Args(json.readValue(line, Map.class));
        answers.println(json.writeValueAsString(answer(scenarios, context, args)));
        answers.flush();
      }
    }
    System.exit(0); // MapReduce's local runner leaves threads behind
  }

  private static Map<String, Object> answer(
      Map<String, Scenario> scenarios, Context context, Args args) {
    Map<String, Object> answer = new LinkedHashMap<>();
    try {
      Scenario scenario = scenarios.get(args.text("do"));
      if (scenario == null) {
        throw new IllegalArgumentException(
            "no scenario " + args.text("do") + "; there are " + scenarios.keySet());
      }
      Statistics before = Statistics.now();
      answer.putAll(scenario.run(context, args));
      // A scenario that counts only a part of its work has put "stats" itself.
      answer.putIfAbsent("stats", Statistics.now().minus(before));
      answer.put("ok", true);
    } catch (Throwable failure) {
      StringWriter trace = new StringWriter();
      failure.printStackTrace(new PrintWriter(trace));
      answer.put("ok", false);
      answer.put("error", trace.toString());
    }
    return answer;
  }
}
