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
 * A warm HDFS client that tests ask to do one thing after the other.
 *
 * <p>Each line of standard input is a JSON object, {"do": NAME, ...}; each answer is one line: {"ok":
 * true, ...} with what the scenario returned and, under "stats", what the plug-in counted meanwhile, or {"ok":
 * false, "error": ...}. Arguments are properties of the configuration, name=value; one that begins
 * with "check." is the tests' own.
 */
public final class Client {
  private Client() {}

  public static void main(String[] arguments) throws Exception {
    PrintStream answers = System.out;
    System.setOut(System.err); // what Hadoop's tools print is none
    ObjectMapper json = new ObjectMapper();
    Map<String, Scenario> scenarios = new HashMap<>();
    Reading.register(scenarios);
    Mistakes.register(scenarios);
    Many.register(scenarios);
    Changing.register(scenarios);
    Special.register(scenarios);
    Background.register(scenarios);
    Programs.register(scenarios);
    NewKeys.register(scenarios);
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
      // A scenario that measures a part of itself has put its own.
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
