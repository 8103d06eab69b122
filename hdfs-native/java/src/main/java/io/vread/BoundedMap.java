// SPDX-License-Identifier: Apache-2.0
package io.vread;

import java.util.LinkedHashMap;
import java.util.Map;

/** A map with a limit: when it is full, the entry used least recently goes. Not thread-safe. */
public final class BoundedMap<K, V> extends LinkedHashMap<K, V> {
  private static final long serialVersionUID = 1L;

  private final int capacity;

  private BoundedMap(int capacity) {
    super(16, 0.75f, true);
    this.capacity = capacity;
  }

  public static <K, V> Map<K, V> of(int capacity) {
    return new BoundedMap<>(capacity);
  }

  @Override
  protected boolean removeEldestEntry(Map.Entry<K, V> eldest) {
    return size() > capacity;
  }
}
