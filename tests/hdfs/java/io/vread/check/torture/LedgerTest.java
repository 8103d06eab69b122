// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check.torture;

import io.vread.check.torture.Ledger.Life;

/** Tests when the ledger calls a path steady. test_torture_hdfs.py runs this program. */
final class LedgerTest {
  private static final String PATH = "/a";

  private LedgerTest() {}

  public static void main(String[] none) {
    aNameThatIsTakenForTheFirstTime();
    aFileThatStays();
  }

  /** A reader that opens the path before HDFS has renamed the file finds no file. */
  private static void aNameThatIsTakenForTheFirstTime() {
    Ledger ledger = new Ledger();
    Life life = settled(ledger);
    ledger.add(PATH);
    ledger.mayHold(PATH, life);
    long opened = later();
    ledger.holds(PATH, life);
    check(!ledger.steady(PATH, opened), "the path had no file when it was opened");
  }

  private static void aFileThatStays() {
    Ledger ledger = new Ledger();
    Life life = settled(ledger);
    ledger.add(PATH);
    ledger.mayHold(PATH, life);
    ledger.holds(PATH, life);
    long opened = later();
    check(ledger.steady(PATH, opened), "the path had one file all the time");
    ledger.mayHold(PATH, null);
    check(!ledger.steady(PATH, opened), "the file may be deleted");
  }

  private static Life settled(Ledger ledger) {
    Life life = new Life();
    ledger.is(life, Version.EMPTY.appended(ledger.nextSerial(), 100));
    return life;
  }

  /** A time behind all that was noted: the clock may stand still between two calls. */
  private static long later() {
    long now = Ledger.now();
    while (Ledger.now() == now) {
      Thread.onSpinWait();
    }
    return Ledger.now();
  }

  private static void check(boolean condition, String what) {
    if (!condition) {
      throw new AssertionError(what);
    }
  }
}
