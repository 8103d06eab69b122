// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.bench;

import java.util.Map;

/** The part of the JMX bean of vRead's plug-in that rounds record. */
public interface PlugInMXBean {
  long getBytes();

  Map<String, Long> getFailureReasons();

  Map<String, Long> getFallbackReasons();
}
