// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import io.vread.Errno;
import io.vread.FakeClock;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A backend for tests that can be absent, refuse, hang, hold up and die. It adds lines such as
 * "finalized 7_1001@DS-1" to the story.
 */
final class FakeBackend implements PublishChannel.Connector {
  private final Story story;
  private final FakeClock clock;
  volatile boolean absent;
  volatile long takesMs; // for each event
  volatile boolean hung;
  volatile int answer;
  volatile int keysAnswer;
  volatile Throwable broken; // of each event
  volatile Throwable brokenConnect; // of the next attempt to connect
  volatile CountDownLatch gate = new CountDownLatch(0);
  private volatile Connection current;
  private volatile int refusal;
  private final AtomicInteger refusals = new AtomicInteger(); // events still to be refused

  FakeBackend(Story story, FakeClock clock) {
    this.story = story;
    this.clock = clock;
  }

  @Override
  public PublishChannel connect() throws IOException {
    Throwable failure = brokenConnect;
    if (failure != null) {
      brokenConnect = null;
      throw FakeBackend.<RuntimeException>raise(failure);
    }
    if (absent) {
      story.add("no backend");
      throw new IOException("no backend");
    }
    story.add("connect");
    current = new Connection();
    return current;
  }

  /** Throws a failure that the compiler need not know of. */
  @SuppressWarnings("unchecked")
  static <T extends Throwable> T raise(Throwable failure) throws T {
    throw (T) failure;
  }

  /** Behaves as if the backend's process had ended. */
  void die() {
    absent = true;
    current.dead = true;
  }

  /** Refuses the next {@code times} events with {@code result}. */
  void refuse(int result, int times) {
    refusal = result;
    refusals.set(times);
  }

  private int nextAnswer() {
    return refusals.getAndUpdate(left -> Math.max(left - 1, 0)) > 0 ? refusal : answer;
  }

  private final class Connection implements PublishChannel {
    volatile boolean dead;
    private volatile boolean closed;

    @Override
    public int publish(Event event, ReplicaName replica) {
      String what = event.name().toLowerCase() + " ";
      what += replica.blockId + "_" + replica.generationStamp + "@" + replica.storageId;
      if (closed) {
        throw new IllegalStateException("published on a closed connection: " + what);
      }
      if (broken != null) {
        throw FakeBackend.<RuntimeException>raise(broken);
      }
      if (dead) {
        return Errno.ENOTCONN;
      }
      boolean interrupted = Thread.interrupted(); // no interrupt reaches libvread either
      try {
        if (gate.getCount() > 0) {
          story.add("held up: " + what);
        }
        gate.await();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      } finally {
        if (interrupted) {
          Thread.currentThread().interrupt();
        }
      }
      if (hung) {
        story.add("hang");
        clock.pass(Bench.HANG_MS);
        return Errno.ETIME;
      }
      clock.pass(takesMs);
      int result = nextAnswer();
      story.add(result == 0 ? what : "refused " + what);
      return result;
    }

    @Override
    public int publishKeys(String poolId, String storageId, BlockKeys keys) {
      if (dead) {
        return Errno.ENOTCONN;
      }
      StringBuilder what = new StringBuilder("keys " + poolId + "@" + storageId + ":");
      keys.keys.forEach(key -> what.append(" ").append(key.getKeyId()));
      what.append(keys.tokens ? "" : " off");
      story.add(keysAnswer == 0 ? what.toString() : "refused " + what);
      return keysAnswer;
    }

    @Override
    public boolean connected() {
      if (closed) {
        throw new IllegalStateException("a closed connection was looked at");
      }
      return !dead;
    }

    @Override
    public void close() {
      closed = true;
      story.add("close");
    }
  }
}
