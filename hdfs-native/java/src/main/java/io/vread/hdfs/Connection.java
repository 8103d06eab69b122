// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs;

/**
 * One connection of libvread, counted: the endpoint, every open replica and every call that opens
 * one hold on to it, and the last to let go disconnects. The slice of the pool is thus mapped as
 * long as anybody could read from it.
 */
final class Connection extends Counted {
  private final Backend backend;
  private final long pointer;

  private enum State {
    USABLE,
    SUSPECT, // it let somebody wait for too long; whether it is lost will turn out
    LOST
  }

  private volatile State state = State.USABLE;

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

  /** If not, nobody must wait for an answer on it: only closing is left. */
  boolean usable() {
    return state == State.USABLE;
  }

  boolean lost() {
    return state == State.LOST;
  }

  void suspect() {
    if (state == State.USABLE) {
      state = State.SUSPECT;
    }
  }

  void trust() {
    state = State.USABLE;
  }

  void lose() {
    state = State.LOST;
  }

  /** Whether the backend gives a sign of life: 0, or an errno after the timeout at most. */
  int ping() {
    return backend.ping(pointer);
  }

  @Override
  void end() {
    backend.disconnect(pointer);
  }
}
