// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check.torture;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** Counters, errors and complaints of all threads of a torture. */
final class Counts {
  private static final int TOLD = 20; // complaints of each kind that are kept in full

  private final Map<String, LongAdder> numbers = new ConcurrentHashMap<>();
  private final Map<String, Map<String, LongAdder>> errors = new ConcurrentHashMap<>();
  private final Map<String, List<String>> complaints = new ConcurrentHashMap<>();

  void add(String name, long count) {
    numbers.computeIfAbsent(name, unused -> new LongAdder()).add(count);
  }

  void add(String name) {
    add(name, 1);
  }

  long get(String name) {
    LongAdder found = numbers.get(name);
    return found == null ? 0 : found.sum();
  }

  /** Counts an error by kind and by the exception's class. */
  void error(String kind, Throwable error) {
    errors
        .computeIfAbsent(kind, unused -> new ConcurrentHashMap<>())
        .computeIfAbsent(error.getClass().getSimpleName(), unused -> new LongAdder())
        .increment();
  }

  /** Counts a complaint under its kind. The first TOLD of a kind are kept in full. */
  void complain(String kind, String text) {
    add(kind);
    List<String> told =
        complaints.computeIfAbsent(kind, unused -> Collections.synchronizedList(new ArrayList<>()));
    if (told.size() < TOLD) {
      told.add(text);
    }
  }

  Map<String, Object> result() {
    Map<String, Object> result = new LinkedHashMap<>();
    new TreeMap<>(numbers).forEach((name, number) -> result.put(name, number.sum()));
    Map<String, Map<String, Long>> met = new TreeMap<>();
    errors.forEach(
        (kind, classes) -> {
          Map<String, Long> summed = new TreeMap<>();
          classes.forEach((name, number) -> summed.put(name, number.sum()));
          met.put(kind, summed);
        });
    result.put("errors", met);
    result.put("complaints", new TreeMap<>(complaints));
    return result;
  }
}
