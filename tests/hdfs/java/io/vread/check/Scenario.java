// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.util.Map;

/** A request that a client can run. An exception makes the test fail. */
interface Scenario {
  Map<String, Object> run(Context context, Args args) throws Exception;
}
