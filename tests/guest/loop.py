# SPDX-License-Identifier: GPL-2.0-or-later
"""A loop of random events under readers: the guest sleeps, the device is unplugged and plugged
again, the backend and readers are killed.  The test_loop.py of tests/xen/checked and of
tests/kvm/checked runs the loop in a guest whose kernel checks itself.

A round begins one event, or two at the same time, ends them, and waits until every reader reads
through vRead again.  The readers check every byte that they get.  At the end the device must hold
nothing that belongs to a process, and the module must leave no memory behind.

VREAD_LOOP is the length: a number of rounds ("12", the default), or minutes ("15m").  The events of
all rounds follow from VREAD_LOOP_SEED.  The seed is printed, as are the counts at the end: use
pytest -s.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator

from tests.guest.checking import leaks
from tests.guest.steady import BACK, Steady, Text
from tests.support.waiting import eventually
from tools.lab import deployment

LENGTH = os.environ.get("VREAD_LOOP", "12")
SEED = os.environ.get("VREAD_LOOP_SEED")
READERS = 3
BLOCKS = 2  # that readers read
HOLDER = "/usr/bin/vread_holder"
TOGETHER = 0.5  # how likely a round has two events
BACKEND, READER = "backend killed", "reader killed"


class Loop:
    """Events are generators: they begin the event, yield, and end it.  A subclass adds the events
    of its hypervisor to `events`.

    apart: pairs of events that cannot happen at the same time.  last: the event that must begin
    last and end first, because the guest takes no commands meanwhile."""

    last = ""

    def __init__(self, client, backend, demo) -> None:
        self.client, self.backend = client, backend
        seed = int(SEED) if SEED else random.SystemRandom().randrange(1 << 32)
        print(f"\nloop: seed {seed}, length {LENGTH}", flush=True)
        self.random = random.Random(seed)
        text = Text.of_demo(demo, BLOCKS)
        self.readers = [Steady(client, text, f"-{n}") for n in range(READERS)]
        self.events: dict[str, Callable[[], Iterator[None]]] = {
            BACKEND: self.backend_killed,
            READER: self.reader_killed,
        }
        self.apart: set[frozenset[str]] = set()
        self.told: Counter[str] = Counter()
        self._deck: list[str] = []

    # ---- events ----------------------------------------------------------------

    def backend_killed(self) -> Iterator[None]:
        self.backend.kill()
        yield
        self.backend.start()

    def reader_killed(self) -> Iterator[None]:
        """The next reader takes its place."""
        victim = self.random.choice(self.readers)
        self.client.run(f"kill -KILL {victim.pid}").check()
        self._count(victim)
        yield
        victim.start()

    # ---- rounds ----------------------------------------------------------------

    def run(self) -> None:
        free = self.free()
        for reader in self.readers:
            reader.start()
        self._all_read()
        for number in self._rounds():
            names = self._choose()
            print(f"loop: round {number}: {' and '.join(names)}", flush=True)
            self._round(names)
        for reader in self.readers:
            self.client.run(f"kill {reader.pid}").check()
        for reader in self.readers:
            eventually(lambda pid=reader.pid: not self._lives(pid), BACK, f"end of {reader.path}")
            self._count(reader)
        self._print()
        # A range that a killed reader had may be in quarantine for a moment.
        eventually(lambda: self.free() == free, BACK, lambda: f"{self.free()} of {free} bytes free")
        eventually(lambda: not self._handles(), BACK, lambda: f"{self._handles()} handles are open")
        assert self.told["bytes by vRead"] and self.told["bytes the other way"]

    def free(self) -> int:
        """Bytes of the pool that belong to no process and are not in quarantine."""
        return int(self.client.text([HOLDER, "free"]))

    def check_leaks(self) -> None:
        """Unloads the module.  The test has called forget_leaks() before the module was loaded."""
        deployment.unload_frontend(self.client)
        assert leaks(self.client) == ""
        print("loop: the module was unloaded; kmemleak found nothing", flush=True)

    def _round(self, names: list[str]) -> None:
        events = {name: self.events[name]() for name in names}
        for name in sorted(names, key=lambda name: name == self.last):
            next(events[name])
        # Without a backend other events do not end.
        for name in sorted(names, key=lambda name: (name != BACKEND, name != self.last)):
            for _ in events[name]:
                raise AssertionError(f"{name}: more than one yield")
        self.backend.wait_connected(self.client)
        self._all_read()
        for reader in self.readers:
            reader.is_well()
        self.client.host.check_dmesg()
        self.told.update(names)
        self.told["rounds"] += 1
        self.told["rounds of two events"] += len(names) == 2

    def _rounds(self) -> Iterator[int]:
        if not LENGTH.endswith("m"):
            yield from range(1, int(LENGTH) + 1)
            return
        end, number = time.monotonic() + 60 * float(LENGTH[:-1]), 0
        while time.monotonic() < end:
            number += 1
            yield number

    def _choose(self) -> list[str]:
        """Each event comes as the first of a round before one comes again."""
        if not self._deck:
            self._deck = self.random.sample(sorted(self.events), len(self.events))
        first = self._deck.pop()
        others = [
            name
            for name in sorted(self.events)
            if name != first and frozenset((first, name)) not in self.apart
        ]
        if not others or self.random.random() > TOGETHER:
            return [first]
        return self.random.sample([first, self.random.choice(others)], 2)

    def _all_read(self) -> None:
        for reader in self.readers:
            reader.goes_by_vread(1)

    def _lives(self, pid: int) -> bool:
        return self.client.run(f"kill -0 {pid} 2>/dev/null").rc == 0

    def _handles(self) -> int:
        return self.backend.device(self.client)["counters"]["open_handles"]

    def _count(self, reader: Steady) -> None:
        """Adds the counts of a reader that has ended."""
        counts = reader.is_well()
        self.told["bytes by vRead"] += counts["by_vread"]
        self.told["bytes the other way"] += counts["other_way"]
        self.told["readers"] += 1
        self.told.update({f"calls that failed with {e}": n for e, n in counts["errors"].items()})

    def _print(self) -> None:
        for name, count in sorted(self.told.items()):
            print(f"loop: {count} {name}", flush=True)
