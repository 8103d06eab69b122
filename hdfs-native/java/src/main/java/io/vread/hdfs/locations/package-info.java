// SPDX-License-Identifier: Apache-2.0
/**
 * Where blocks are, as the NameNode of their file system said. Reads only look here: nothing is
 * asked while a reader waits.
 */
package io.vread.hdfs.locations;
