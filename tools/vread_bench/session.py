# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the rounds of a spec that are not yet in the journal.

`__main__` calls run().  A round whose client says that bytes were wrong is recorded without any
number, and the run goes on, because the report must show it.  Every other failure ends the run with
an error: nothing of that round is recorded, and the next start runs it again.

SIGINT and SIGTERM end the run after the running round.  SIGKILL loses the running round only.
"""

import hashlib
import signal
import time
from contextlib import contextmanager

from . import accounting, bytes_by, machine
from .client import Clients, put_jars, tell_round
from .errors import BenchError
from .journal import open_journal
from .plan import plan
from .progress import Progress

COLD = ("sequential",)  # workloads whose caches are emptied before
WRITING = ("write",)  # workloads that read nothing
REQUIRED = {"bytes": int, "seconds": (int, float), "latency_us": dict, "checked_bytes": int}


class Stopped(BenchError):
    """The user ended the run."""


def head(spec, targets, targets_text):
    """The first record of the journal."""
    used = sorted({cell.target for cell in spec.cells})
    key = hashlib.sha256(f"{spec.digest()}\n{targets_text}".encode()).hexdigest()[:16]
    return {
        "format": 1,
        "key": key,
        "name": spec.name,
        "seed": spec.seed,
        "rounds": spec.rounds,
        "size": spec.size,
        "files": spec.files,
        "preads": spec.preads,
        "targets": {name: machine.describe(targets[name]) for name in used},
    }


def run(spec, targets, targets_text, journal_path, clock=time):
    """Returns the head and all rounds once every round has run."""
    begin = head(spec, targets, targets_text)
    journal = open_journal(journal_path, begin)
    try:
        if journal.head["targets"] != begin["targets"]:
            raise BenchError(
                f"{journal_path}: machines or versions are not those of the rounds so far: "
                f"{_difference(journal.head['targets'], begin['targets'])}"
            )
        _rounds(spec, targets, journal, clock)
        return journal.head, journal.rounds
    finally:
        journal.close()


def _rounds(spec, targets, journal, clock):
    steps = plan(spec)
    for record, step in zip(journal.rounds, steps, strict=False):
        if record.get("cell") != step.cell.id:
            raise BenchError(f"{journal.path}: round {step.index} is of another cell: damaged")
    if len(journal.rounds) > len(steps):
        raise BenchError(f"{journal.path}: has more rounds than the spec: damaged")
    left = steps[len(journal.rounds) :]
    for target in {step.cell.target for step in left}:
        put_jars(targets[target])
    progress = Progress(len(steps), len(journal.rounds), clock.monotonic)
    states, clients = States(targets), Clients()
    with _signals() as stop:
        try:
            for step in left:
                if stop:
                    raise Stopped(f"stopped before round {step.index + 1} of {len(steps)}; the "
                                  "same command goes on from here")  # fmt: skip
                states.enter(step.cell)
                progress.begins(step)
                record = measure(spec, targets[step.cell.target], step, clients, clock)
                journal.add(record)
                progress.ended(record)
        finally:
            clients.end()
            states.leave()


def measure(spec, target, step, clients, clock):
    """The record of one round."""
    record = {
        "index": step.index,
        "round": step.round,
        "cell": step.cell.id,
        "began": round(clock.time(), 3),
    }
    place = target.places[step.cell.place]
    asked = step.cell.way == "vread" and step.cell.workload not in WRITING and place.transports
    with clients.round(target, step.cell.id) as client:
        tell_round(client, target, spec, step)
        record["cold"] = None
        if step.cell.workload in COLD:
            for command in target.cold:
                command.run()
            record["cold"] = bool(target.cold)
        answer = client.ask("ready")  # reads, too: to warm up
        if "wrong" not in answer:
            came = bytes_by.read(target) if asked and target.vreadds else None
            # What reads CPU time may itself be counted, so the counters are read inside.
            before = [accounting.read(target.cpu), accounting.read(target.counters)]
            answer = client.ask("go")
            counted = accounting.read(target.counters)
            after = [accounting.read(target.cpu), counted]
            if came is not None and "wrong" not in answer:
                came = bytes_by.grown(came, bytes_by.read(target))
                bytes_by.check(step.cell, place, came, answer.get("bytes_by", {}))
        # Reads back what the round has written, which must count neither as time nor as CPU time.
        if "wrong" not in answer:
            answer |= client.ask("check")
    if "wrong" in answer:
        return record | {"wrong": str(answer["wrong"])}
    for key, kind in REQUIRED.items():
        if not isinstance(answer.get(key), kind):
            raise BenchError(f"{step.cell.id}: client: answer without {key}: {answer}")
    if answer["checked_bytes"] != answer["bytes"] or answer["bytes"] <= 0:
        raise BenchError(
            f"{step.cell.id}: client: {answer['bytes']} bytes, {answer['checked_bytes']} checked"
        )
    cpu, counters = (accounting.grown(b, a) for b, a in zip(before, after, strict=True))
    seconds = _cpu(cpu, answer, target.emulated)
    return record | answer | {"cpu_seconds": seconds, "counters": _counters(counters)}


def _cpu(grown, answer, emulated):
    """CPU seconds by part, null where nobody can tell.  The client's is its domain's if the target
    counts that, else that of its JVM, without the time in which the JVM checked bytes.  The time of
    an emulated domain stays whole: in its JVM's clock is also the time in which the emulator waits
    for a processor."""
    parts = {part: grown.get(part) for part in ("client", "datanode", "host", "network")}
    if parts["client"] is None:
        parts["client"] = answer.get("cpu_seconds")
        emulated = False
    if parts["client"] is not None and not emulated:
        parts["client"] = max(0, parts["client"] - answer.get("check_cpu_seconds", 0))
    return {part: None if s is None else round(s, 6) for part, s in parts.items()}


def _counters(grown):
    return {name: grown.get(name) for name in ("copied-bytes", "instructions")}


class States:
    """Keeps the targets in the state that the next cell needs."""

    def __init__(self, targets):
        self._targets = targets
        self._now = None
        self._entered = []

    def enter(self, cell):
        if self._now == cell.state:
            return
        self.leave()
        target = self._targets[cell.target]
        values = (
            target.images[cell.image],
            target.settings[cell.setting],
            target.places[cell.place],
            target.loads[cell.load],
        )
        for state in values:
            self._entered.append(state)
            for command in state.enter:
                command.run()
        self._now = cell.state

    def leave(self):
        """Ends the state, the last part first."""
        self._now = None
        while self._entered:
            for command in self._entered.pop().leave:
                command.run()


@contextmanager
def _signals():
    """Yields a list that is empty until the user asks for the end."""
    asked = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    old = {n: signal.signal(n, lambda signum, _: asked.append(signum)) for n in numbers}
    try:
        yield asked
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _difference(old, new):
    for name in new:
        for key, value in new[name].items():
            if old.get(name, {}).get(key) != value:
                return f"{name}.{key}: was {old.get(name, {}).get(key)}, is {value}"
    return "other targets"
