// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check.torture;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

/**
 * Records which contents a path may have at which time. Owners write the ledger; readers judge
 * bytes by it.
 *
 * <p>An owner notes a change before it asks HDFS, and again when HDFS has answered. Between the two
 * notes both the old and the new content are right. A stream is judged by the time from before its
 * opening to after the read, and by the file that it was opened on. If another file has taken the
 * name since, its bytes are wrong for the stream: the reader did not open that file, and HDFS would
 * report an error.
 */
final class Ledger {
  private static final long FOREVER = Long.MAX_VALUE;

  /** One file from its creation to its deletion, under whatever names. */
  static final class Life {
    private final List<Spell> spells = new ArrayList<>();
  }

  private static final class Spell {
    final Version version;
    final long from;
    long to = FOREVER;

    Spell(Version version, long from) {
      this.version = version;
      this.from = from;
    }
  }

  private static final class Holding {
    final Life life; // null: no file has the path
    final long from;
    long to = FOREVER;

    Holding(Life life, long from) {
      this.life = life;
      this.from = from;
    }

    List<Spell> spells() {
      return life == null ? new ArrayList<>() : life.spells;
    }
  }

  private final Map<String, List<Holding>> names = new HashMap<>();
  private final List<String> paths = new ArrayList<>();
  private long serial;

  static long now() {
    return System.nanoTime();
  }

  /** The serial number for a new write. */
  synchronized long nextSerial() {
    return ++serial;
  }

  synchronized long serials() {
    return serial;
  }

  /** Adds a path that no file has. */
  synchronized void add(String path) {
    List<Holding> none = new ArrayList<>();
    none.add(new Holding(null, now()));
    names.put(path, none);
    paths.add(path);
  }

  synchronized String any(Random random) {
    return paths.get(random.nextInt(paths.size()));
  }

  /** The paths that have a file. Call when all owners have ended. */
  synchronized List<String> present() {
    List<String> found = new ArrayList<>();
    names.forEach(
        (path, holdings) -> {
          if (holdings.stream().anyMatch(one -> one.to == FOREVER && one.life != null)) {
            found.add(path);
          }
        });
    return found;
  }

  /** From now on the path may have this file, or none (null). Others stay possible. */
  synchronized void mayHold(String path, Life life) {
    names.get(path).add(new Holding(life, now()));
  }

  /** From now on the path has this file, or none (null), and no other. */
  synchronized void holds(String path, Life life) {
    long now = now();
    for (Holding holding : names.get(path)) {
      if (holding.life != life && holding.to == FOREVER) {
        holding.to = now;
      }
    }
  }

  /** From now on the file may have this content. Others stay possible. */
  synchronized void mayBe(Life life, Version version) {
    life.spells.add(new Spell(version, now()));
  }

  /** From now on the file has this content and no other. */
  synchronized void is(Life life, Version version) {
    long now = now();
    for (Spell spell : life.spells) {
      spell.to = Math.min(spell.to, now);
    }
    life.spells.add(new Spell(version, now));
  }

  /** The files that the path may have had at any time since then: what open() may have found. */
  synchronized Set<Life> lives(String path, long since) {
    Set<Life> found = new HashSet<>();
    for (Holding holding : names.get(path)) {
      if (holding.to >= since && holding.life != null) {
        found.add(holding.life);
      }
    }
    return found;
  }

  /** The contents that those files may have had at any time since then. */
  synchronized List<Version> versions(Set<Life> lives, long since) {
    List<Version> found = new ArrayList<>();
    for (Life life : lives) {
      for (Spell spell : life.spells) {
        if (spell.to >= since) {
          found.add(spell.version);
        }
      }
    }
    return found;
  }

  /** True if the path had one file all the time since then, and the file did not change. */
  synchronized boolean steady(String path, long since) {
    List<Holding> holdings = new ArrayList<>(names.get(path));
    holdings.removeIf(holding -> holding.to < since);
    if (holdings.size() != 1 || holdings.get(0).from >= since || holdings.get(0).life == null) {
      return false;
    }
    List<Spell> spells = new ArrayList<>(holdings.get(0).life.spells);
    spells.removeIf(spell -> spell.to < since);
    return spells.size() == 1 && spells.get(0).from < since && !spells.get(0).version.growing();
  }

  /** Drops what ended before then. No reader may ask for earlier times any more. */
  synchronized void forget(long before) {
    for (List<Holding> holdings : names.values()) {
      holdings.removeIf(holding -> holding.to < before);
      for (Holding holding : holdings) {
        holding.spells().removeIf(spell -> spell.to < before);
      }
    }
  }
}
