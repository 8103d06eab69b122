// SPDX-License-Identifier: Apache-2.0
/**
 * The one class of vRead that must be in a package of Hadoop's: {@link
 * org.apache.hadoop.hdfs.ClientMakingFileSystem} overrides a package-private method.
 */
package org.apache.hadoop.hdfs;
