// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.util.Map;

/** Something a client does; what it throws is a failed test. */
interface Scenario {
  Map<String, Object> run(Context context, Args args) throws Exception;
}
