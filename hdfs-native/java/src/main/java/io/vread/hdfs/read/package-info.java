// SPDX-License-Identifier: Apache-2.0
/**
 * Reading one block: the connection to the backend, open replicas, the reader that the stock client
 * gets, and the stock client's own reader, by which it goes on after a failure.
 */
package io.vread.hdfs.read;
