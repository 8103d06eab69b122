// SPDX-License-Identifier: Apache-2.0
package io.vread;

import java.io.FileInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Loads the native library while this process has no descriptor left, and again when it has some.
 * Prints what came of each attempt. Run it with a small limit of open files.
 */
public final class ShortOfDescriptors {
  private ShortOfDescriptors() {}

  /** A time that passes when the program says so. */
  private static final class TestClock implements Clock {
    private long now;

    @Override
    public long now() {
      return now;
    }

    @Override
    public long sinceEpoch() {
      return now;
    }

    @Override
    public void waitUntil(Object monitor, long time) {
      throw new UnsupportedOperationException();
    }
  }

  /** arguments: the library, and another file that may be read. */
  public static void main(String[] arguments) throws Exception {
    Class.forName("io.vread.NativeLibrary"); // a process has this class before its first block
    TestClock clock = new TestClock();
    NativeLibrary.Attempts library = new NativeLibrary.Attempts(clock);
    List<FileInputStream> all = takeAll();
    String first = library.load(arguments[0]).reason();
    String german = failing("Zu viele offene Dateien", clock).load(arguments[1]).reason();
    String taken = "already loaded in another classloader";
    String copy = failing(taken, clock).load(arguments[1]).reason();
    clock.now += 1000;
    String second = library.load(arguments[0]).reason();
    for (FileInputStream each : all) {
      each.close();
    }
    System.out.println(first + " " + german + " " + copy + " " + second);
    System.out.println(failing("Kein ELF", clock).load(arguments[1]).reason());
    System.out.println(library.load(arguments[0]).reason());
    clock.now += 2000;
    NativeLibrary loaded = library.load(arguments[0]);
    System.out.println(loaded.usable() + " " + loaded.path());
  }

  private static NativeLibrary.Attempts failing(String message, Clock clock) {
    return new NativeLibrary.Attempts(clock) {
      @Override
      void loadFile(String file) {
        throw new UnsatisfiedLinkError(message);
      }
    };
  }

  private static List<FileInputStream> takeAll() {
    List<FileInputStream> all = new ArrayList<>();
    try {
      while (true) {
        all.add(new FileInputStream("/dev/null"));
      }
    } catch (IOException e) {
      return all;
    }
  }
}
