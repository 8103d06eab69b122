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
 * Which contents a path may have at which time.
 *
 * <p>An owner notes a change before it asks HDFS for it, and once more when that has answered;
 * between the two both what was and what will be are right. A stream is judged by the time from
 * before its opening to after the read, and by the file it was opened on, whatever became of that:
 * another one that has the name by now is not what its reader asked for, and HDFS tells it so.
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
    final Life life; // null: the path is nobody's
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

  /** Of a write to come. */
  synchronized long nextSerial() {
    return ++serial;
  }

  synchronized long serials() {
    return serial;
  }

  synchronized void add(String path) {
    names.put(path, new ArrayList<>());
    paths.add(path);
  }

  synchronized String any(Random random) {
    return paths.get(random.nextInt(paths.size()));
  }

  /** Paths that are somebody's, once all owners have ended. */
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

  /** The path may be this file's, or nobody's (null), from now on; others' it may be as well. */
  synchronized void mayHold(String path, Life life) {
    names.get(path).add(new Holding(life, now()));
  }

  /** The path is this file's, or nobody's (null), and no other one's. */
  synchronized void holds(String path, Life life) {
    long now = now();
    for (Holding holding : names.get(path)) {
      if (holding.life != life && holding.to == FOREVER) {
        holding.to = now;
      }
    }
  }

  /** The file may have this content from now on; others it may have as well. */
  synchronized void mayBe(Life life, Version version) {
    life.spells.add(new Spell(version, now()));
  }

  /** The file has this content and no other. */
  synchronized void is(Life life, Version version) {
    long now = now();
    for (Spell spell : life.spells) {
      spell.to = Math.min(spell.to, now);
    }
    life.spells.add(new Spell(version, now));
  }

  /** Whose the path may have been at any time since then: what an open() found. */
  synchronized Set<Life> lives(String path, long since) {
    Set<Life> found = new HashSet<>();
    for (Holding holding : names.get(path)) {
      if (holding.to >= since && holding.life != null) {
        found.add(holding.life);
      }
    }
    return found;
  }

  /** What those files may have held at any time since then. */
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

  /** Whether the path was one file's since then, which did not change either. */
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

  /** Nobody asks for what was before then. */
  synchronized void forget(long before) {
    for (List<Holding> holdings : names.values()) {
      holdings.removeIf(holding -> holding.to < before);
      for (Holding holding : holdings) {
        holding.spells().removeIf(spell -> spell.to < before);
      }
    }
  }
}
