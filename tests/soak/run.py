# SPDX-License-Identifier: GPL-2.0-or-later
"""One soak: starts the bed, reads and writes (tests/hdfs/java, torture) while disturbances happen
and hostile parties take what they get, and judges.  __main__.py and test_soak.py call soak().
"""

import contextlib
import os
import random
import re
import time
from collections import Counter
from pathlib import Path

from tests.soak import standstill
from tests.soak.bed import HOSTILE, soak_bed
from tests.soak.disturbances import DISTURBANCES
from tests.soak.hostile import UID, hostile_parties
from tests.support.waiting import eventually

PAUSES = (0.5, 4.0)  # s between a recovery and the next disturbance
RECOVERY = 120  # s
FILES = {"blocks": [1024, 2048], "largest": 6144, "files": 12, "readers": 6, "owners": 3}
ANSWER_TIMEOUT = 1800  # s after the last disturbance
TCP_TOO = "failed_by_tcp_too"


def descriptors(daemon):
    return len(os.listdir(f"/proc/{daemon.pid}/fd"))


def memory_mib(daemon):
    """The most memory that this vreadd has had so far."""
    text = Path(f"/proc/{daemon.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+) kB", text)[1]) / 1024


class Disturber:
    """Disturbs the bed at random, as the seed says, and waits after each disturbance until the
    client reads through vRead again, or has ended its reads."""

    def __init__(self, bed, folder, seed, tell):
        """folder: for what is kept of standstills (standstill.py)."""
        self._bed = bed
        self._folder = Path(folder)
        self._chance = random.Random(seed)
        self._tell = tell
        self._waiting = []  # disturbances of this round: each happens once before any happens again
        self.done = Counter()
        self.longest_recovery = 0.0
        self.standstills = []
        self.peak_mib = dict.fromkeys(bed.daemons, 0.0)

    def disturb(self):
        if not self._waiting:
            self._waiting = self._chance.sample(sorted(DISTURBANCES), len(DISTURBANCES))
        name = self._waiting.pop()
        self._note_memory()
        self._tell(name)
        DISTURBANCES[name](self._bed, self._chance)
        self._await_recovery()
        self.done[name] += 1
        time.sleep(self._chance.uniform(*PAUSES))

    def _note_memory(self):
        for name, daemon in self._bed.daemons.items():
            self.peak_mib[name] = max(self.peak_mib[name], memory_mib(daemon))

    def _served_bytes(self):
        return self._bed.here.status()["totals"]["bytes"]

    def _reads_on(self, before):
        return self._served_bytes() > before or self._bed.client.answered()

    def _await_recovery(self):
        start = time.monotonic()
        before = self._served_bytes()
        kept = None

        def recovered():
            nonlocal kept
            if not kept and time.monotonic() - start > standstill.AFTER:
                kept = self._keep_standstill()
            return self._reads_on(before)

        eventually(recovered, RECOVERY, lambda: f"reads through vRead; see {kept}")
        self.longest_recovery = max(self.longest_recovery, time.monotonic() - start)

    def _keep_standstill(self):
        path = self._folder / f"standstill-{len(self.standstills) + 1}.json"
        standstill.keep(self._bed, path)
        self.standstills.append(path.name)
        return path


def soak(folder, seconds, seed, variant="asan", tell=print):
    """Returns the ledger.  tell() is called with the name of each disturbance before it begins.
    The bed is in `folder`, which must not exist; what is kept of standstills is beside it."""
    with soak_bed(folder, variant) as bed:
        before = {name: descriptors(daemon) for name, daemon in bed.daemons.items()}
        with bed.client, hostile_parties(bed.hostile, seed) as parties:
            bed.client.send("torture", seconds=seconds, seed=seed, **FILES)
            disturber = Disturber(bed, Path(folder).parent, seed, tell)
            end = time.monotonic() + seconds
            while time.monotonic() < end and not bed.client.answered():
                disturber.disturb()
            answer = bed.client.receive("torture", ANSWER_TIMEOUT)
        leaked = leaked_descriptors(bed, before)
        held = still_held(bed)
    told = ledger(answer, disturber, leaked, held, parties.turns())
    return told | {"seed": seed, "seconds": seconds}


def still_held(bed):
    """What the hostile parties still hold when they have ended: {what: how much}"""
    left = {}

    def nothing():
        here, there = bed.here.status(), bed.there.status()
        users = [device.get("uid") for device in here["devices"]]
        names = [device["name"] for device in here["devices"]]
        left.update(
            {
                "connections of the user": users.count(UID),
                "devices of the guest": names.count(f"kvm:{HOSTILE}"),
                "unread answers": here["ports"]["local"]["unread"],
                "buffers of other hosts": there["peers"]["server"]["buffers_used"],
            }
        )
        return not any(left.values())

    with contextlib.suppress(AssertionError):
        eventually(nothing, 60)
    return left


def leaked_descriptors(bed, before):
    """{host: descriptors that are left when no client is connected}"""
    left = dict.fromkeys(before, 0)

    def all_are_back():
        for name, daemon in bed.daemons.items():
            left[name] = max(0, descriptors(daemon) - before[name])
        return not any(left.values())

    try:
        eventually(all_are_back, 60)
    except AssertionError:
        return left
    return left


def ledger(answer, disturber, leaked, held, hostile):
    stats, complaints = answer["stats"], answer["complaints"]
    fallbacks = {
        name.removeprefix("fallback.reasons."): count
        for name, count in sorted(stats.items())
        if name.startswith("fallback.reasons.")
    }
    return {
        "reads": answer["reads"],
        "bytes": answer["bytes"],
        "bytes by vRead": answer.get("vread_bytes", 0),
        "bytes by vRead of the other host": answer.get("remote_bytes", 0),
        "wrong bytes": len(complaints.get("wrong", [])),
        "failed reads": len(complaints.get("unexpected_failures", [])),
        "reads that failed by TCP, too": answer.get(TCP_TOO, 0),
        "changes by owners": sum(
            answer.get(name, 0) for name in ("created", "replaced", "appended", "deleted")
        ),
        "fallbacks": fallbacks,
        "disturbances": dict(sorted(disturber.done.items())),
        "longest recovery, s": round(disturber.longest_recovery, 1),
        "standstills": disturber.standstills,
        "hostile parties": hostile,
        "still held": held,
        "leaked descriptors": leaked,
        "peak memory, MiB": {name: round(mib) for name, mib in disturber.peak_mib.items()},
        "complaints": complaints,
    }


def is_good(told):
    """True if no byte was wrong, no read failed that TCP would have done, nothing leaked, and each
    hostile party had turns.  A vreadd that ended with a sanitizer's report has ended the soak with
    an error before."""
    return (
        not (told["wrong bytes"] or told["failed reads"])
        and not any(told["still held"].values())
        and not any(told["leaked descriptors"].values())
        and all(told["hostile parties"].values())
    )
