// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

/**
 * One connection of libvread, counted. The endpoint, every open replica and every call that opens a
 * replica hold a reference; the last release disconnects. So the slice of the pool stays mapped as
 * long as anybody can read from it.
 */
final class Connection extends Counted {
  private final Backend backend;
  private final long pointer;

  private volatile boolean usable = true;
  private volatile boolean retired;

  Connection(Backend backend, long pointer) {
    this.backend = backend;
    this.pointer = pointer;
  }

  Backend backend() {
    return backend;
  }

  long pointer() {
    return pointer;
  }

  /** False: nobody may wait for an answer on this connection. Only closing is left. */
  boolean usable() {
    return usable;
  }

  /** A call failed. For good, or until a ping is answered ({@link #trust}). */
  void lose() {
    usable = false;
  }

  void trust() {
    usable = true;
  }

  /** There is another connection in its place: whoever reads from this one moves over. */
  void retire() {
    retired = true;
  }

  boolean retired() {
    return retired;
  }

  /** Returns 0 if the backend answers, else an errno, after the timeout at the latest. */
  int ping() {
    return backend.ping(pointer);
  }

  @Override
  void end() {
    backend.disconnect(pointer);
  }
}
