// SPDX-License-Identifier: Apache-2.0
/**
 * What both plug-ins of vRead use: the settings, the native library, error numbers, time and the
 * release of the jar. Applications call nothing here. {@link io.vread.Version} can be run to see
 * which jar is on a class path.
 */
package io.vread;
