// SPDX-License-Identifier: Apache-2.0
/**
 * Which way blocks are read: through vRead or by the stock client, whichever was measured to be
 * faster.
 */
package io.vread.hdfs.select;
