// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The measuring client of vread-bench, one JVM for a round or for all rounds of a target. client.py
 * starts it.
 *
 * <p>Lines of standard input describe the round ({@link Settings}). The word {@code ready} makes
 * the client connect and warm up, {@code go} measures, {@code check} compares what a round has
 * written, and {@code make} writes the files that rounds read. Each of these words is answered by
 * one line of JSON on standard output. The word {@code new} forgets the round; nothing may run
 * then, and nothing answers. A round that read wrong bytes is answered by
 * {@code {"wrong": ...}} and has no numbers.
 *
 * <p>When standard input ends, the process ends, also in the middle of a measurement: nobody would
 * read its answer, and it would disturb the next round.
 */
public final class Client {
  private static final List<String> WORDS = Arrays.asList("ready", "go", "check", "make");

  private Settings settings = new Settings();
  private final AtomicBoolean busy = new AtomicBoolean();
  private volatile Measurement measurement;

  private Client() {}

  public static void main(String[] arguments) throws IOException {
    new Client().serve();
  }

  private void serve() throws IOException {
    ExecutorService worker = Executors.newSingleThreadExecutor();
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String word = line;
      if (WORDS.contains(word)) {
        busy.set(true);
        worker.execute(() -> answer(word));
      } else if (word.equals("new")) {
        forget();
      } else {
        settings.set(line);
      }
    }
    if (busy.get()) {
      Runtime.getRuntime().halt(1);
    }
    System.exit(0);
  }

  private void forget() throws IOException {
    if (busy.get()) {
      throw new IllegalStateException("new before the answer");
    }
    if (measurement != null) {
      measurement.close();
    }
    measurement = null;
    settings = new Settings();
  }

  private void answer(String word) {
    String text;
    try {
      text = run(word);
    } catch (WrongBytes wrong) {
      text = "{\"wrong\": " + Json.quoted(wrong.getMessage()) + "}";
    } catch (Exception | Error e) {
      e.printStackTrace();
      text = "{\"error\": " + Json.quoted(e.toString()) + "}";
    }
    busy.set(false);
    System.out.println(text);
    System.out.flush();
  }

  private String run(String word) throws Exception {
    switch (word) {
      case "make":
        return FileMaker.make(settings);
      case "ready":
        measurement = Measurement.prepared(settings);
        return "{\"ready\": true}";
      default:
        if (measurement == null) {
          throw new IllegalStateException(word + " before ready");
        }
        return word.equals("go") ? measurement.run() : measurement.check();
    }
  }
}
