// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.io.File;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

/**
 * A disk for tests. It adds "start", "begin-sync", "sync", "begin-sync-dir" and "sync-dir" with the
 * name of the file to the story.
 */
final class FakeDisk implements Disk {
  private final Story story;
  private final Map<String, Integer> failures = new ConcurrentHashMap<>();
  volatile CountDownLatch gate = new CountDownLatch(0);

  FakeDisk(Story story) {
    this.story = story;
  }

  void fail(String name, int result) {
    failures.put(name, result);
  }

  @Override
  public void startWriting(File file) {
    story.add("start " + file.getName());
  }

  @Override
  public int syncData(File file) {
    return sync("sync ", file);
  }

  @Override
  public int syncDirectory(File directory) {
    return sync("sync-dir ", directory);
  }

  private int sync(String what, File file) {
    story.add("begin-" + what + file.getName());
    try {
      gate.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    story.add(what + file.getName());
    return failures.getOrDefault(file.getName(), 0);
  }
}
