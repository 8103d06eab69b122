// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * A backend that can be absent, refuse, hang and die. It writes "finalized 7_1001" and the like
 * into the story.
 */
final class FakeBackend implements PublishChannel.Connector {
  private final Story story;
  private final int timeoutMs;
  volatile boolean absent;
  volatile boolean hung;
  volatile int answer;
  volatile int keysAnswer;
  volatile RuntimeException broken;
  volatile CountDownLatch gate = new CountDownLatch(0);
  private volatile Connection current;

  FakeBackend(Story story, int timeoutMs) {
    this.story = story;
    this.timeoutMs = timeoutMs;
  }

  @Override
  public PublishChannel connect() throws IOException {
    if (absent) {
      story.add("no backend");
      throw new IOException("no backend");
    }
    story.add("connect");
    current = new Connection();
    return current;
  }

  /** As when the backend's process ends. */
  void die() {
    absent = true;
    current.dead = true;
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
        throw broken;
      }
      if (dead) {
        return -Errno.ENOTCONN;
      }
      boolean interrupted = Thread.interrupted(); // as libvread, which no interrupt reaches
      try {
        if (hung) {
          story.add("hang");
          Thread.sleep(timeoutMs);
          return -Errno.ETIME;
        }
        gate.await(100, TimeUnit.SECONDS);
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      } finally {
        if (interrupted) {
          Thread.currentThread().interrupt();
        }
      }
      story.add(answer == 0 ? what : "refused " + what);
      return answer;
    }

    @Override
    public int publishKeys(String poolId, String storageId, BlockKeys keys) {
      if (dead) {
        return -Errno.ENOTCONN;
      }
      StringBuilder what = new StringBuilder("keys " + poolId + "@" + storageId + ":");
      keys.keys.forEach(key -> what.append(" ").append(key.id));
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
