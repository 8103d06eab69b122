// SPDX-License-Identifier: Apache-2.0
/** What the client plug-in counts, and where an operator sees it. */
package io.vread.hdfs.metrics;
