// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The arguments of a scenario, as the test sent them in JSON. */
public final class Args {
  private final Map<?, ?> values;

  public Args(Map<?, ?> values) {
    this.values = values;
  }

  public boolean has(String name) {
    return values.containsKey(name);
  }

  public String text(String name) {
    Object value = values.get(name);
    if (value == null) {
      throw new IllegalArgumentException("argument " + name + " is missing");
    }
    return value.toString();
  }

  public String text(String name, String otherwise) {
    return has(name) ? text(name) : otherwise;
  }

  public long number(String name, long otherwise) {
    return has(name) ? Long.parseLong(text(name)) : otherwise;
  }

  public boolean flag(String name) {
    return has(name) && Boolean.parseBoolean(text(name));
  }

  public List<String> list(String name) {
    List<String> found = new ArrayList<>();
    if (has(name)) {
      for (Object each : (List<?>) values.get(name)) {
        found.add(each.toString());
      }
    }
    return found;
  }
}
