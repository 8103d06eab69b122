// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.bench;

import java.util.Map;
import java.util.TreeMap;

/** Writes the few kinds of JSON that the client answers with. */
final class Json {
  private Json() {}

  static String quoted(String text) {
    StringBuilder out = new StringBuilder("\"");
    for (char c : text.toCharArray()) {
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < ' ' || c > '~') {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    return out.append('"').toString();
  }

  static String object(Map<String, Long> counts) {
    StringBuilder out = new StringBuilder("{");
    for (Map.Entry<String, Long> count : new TreeMap<>(counts).entrySet()) {
      out.append(out.length() > 1 ? ", " : "").append(quoted(count.getKey()));
      out.append(": ").append(count.getValue());
    }
    return out.append("}").toString();
  }
}
