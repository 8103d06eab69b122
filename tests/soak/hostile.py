# SPDX-License-Identifier: GPL-2.0-or-later
"""Hostile parties that run beside a soak and take what they get: a user of this host, the QEMU of a
guest, and another host that takes no answers.

with hostile_parties({"user": [endpoint], ...}, seed) as parties:
    ...                                    # the soak
parties.turns()                            # {party: {what it did: how often}}

Each party is a process of its own, which does one thing after the other at random.  What fails
because a vreadd is away, or refuses more, is tried again.
"""

import contextlib
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time
from collections import Counter, deque
from pathlib import Path

from tests.support import peer_wire as wire
from tests.support.ivshmemfront import Driver, Qemu
from tests.support.localfront import PAGE, Gone, LocalFront, Refused, hello
from tests.support.users import as_user

UID = 1001
HELD = 16  # connections that are over, and whose memory is kept
REPOSITORY = Path(__file__).parents[2]
MOMENT = 0.5  # s for which something is held
READS = 31  # of 4 MiB, that a connection between hosts may leave unanswered


class Party:
    """Does its ways one after the other at random, until SIGTERM."""

    def __init__(self, ways):
        self.ways = ways
        self.done = Counter()

    def run(self, chance):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        try:
            while True:
                way = chance.choice(self.ways)
                with contextlib.suppress(Gone, Refused, OSError, EOFError):
                    way(chance)
                    self.done[way.__name__] += 1
                time.sleep(chance.uniform(0, MOMENT))
        finally:
            print(json.dumps(self.done), flush=True)


# ---- a user ---------------------------------------------------------------------------


class User(Party):
    def __init__(self, endpoint):
        super().__init__(
            [self.says_nothing, self.reads_no_answer, self.takes_all_pages, self.breaks_it]
            + [self.asks_for_anything]
        )
        self.endpoint = endpoint
        self.kept = deque()

    def connect(self):
        with as_user(UID, self.endpoint) as path:
            caller = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            caller.settimeout(10)
            caller.connect(path)
        return caller

    def front(self, **arguments):
        with as_user(UID, self.endpoint) as path:
            return LocalFront(path, **arguments)

    def says_nothing(self, chance):
        with contextlib.ExitStack() as stack:
            for _ in range(70):
                stack.enter_context(self.connect())
            time.sleep(MOMENT)

    def reads_no_answer(self, chance):
        """And keeps the descriptors on their way when it has hung up."""
        with contextlib.ExitStack() as stack:
            for _ in range(40):
                caller = stack.enter_context(self.connect())
                caller.send(hello(pool_pages=64, queues=8))
                if chance.randrange(2):
                    caller.shutdown(socket.SHUT_WR)
            time.sleep(MOMENT)

    def takes_all_pages(self, chance):
        """Hangs up, and keeps the memory."""
        with contextlib.suppress(Refused):
            while True:
                front = self.front(pool_pages=chance.choice([64, 1024, 8192]))
                self.kept.append(front)
                front.pool[::PAGE] = b"x" * (len(front.pool) // PAGE)
        for front in self.kept:
            front.socket.close()
        while len(self.kept) > HELD:
            self.kept.popleft().close()

    def breaks_it(self, chance):
        """And neither hangs up nor gives the memory back for a while."""
        with contextlib.ExitStack() as stack:
            for _ in range(5):
                front = stack.enter_context(self.front())
                front.queues[0].set_producer(5000)
                front.queues[0].notify()
            time.sleep(MOMENT)

    def asks_for_anything(self, chance):
        with self.front() as front:
            for _ in range(200):
                front.open(chance.randrange(1 << 40), 1001, "BP-1", storage_ids=("DS-1",))


# ---- the QEMU of a guest ----------------------------------------------------------------


class Emulator(Party):
    def __init__(self, path):
        super().__init__(
            [self.comes_and_goes, self.takes_no_descriptors, self.talks, self.storms]
            + [self.breaks_it]
        )
        self.path = path
        self.kept = deque()

    def qemu(self):
        return Qemu(self.path, queues=2)

    def comes_and_goes(self, chance):
        """And keeps the memory."""
        qemu = self.qemu()
        qemu.memory[::PAGE] = b"x" * (len(qemu.memory) // PAGE)
        qemu.socket.close()
        self.kept.append(qemu)
        while len(self.kept) > HELD:
            self.kept.popleft().close()

    def takes_no_descriptors(self, chance):
        with socket.socket(socket.AF_UNIX) as caller:
            caller.settimeout(10)
            caller.connect(str(self.path))
            if chance.randrange(2):
                caller.shutdown(socket.SHUT_RDWR)
            time.sleep(MOMENT)

    def talks(self, chance):
        with self.qemu() as qemu:
            qemu.socket.send(chance.randbytes(100))
            time.sleep(MOMENT)

    def storms(self, chance):
        with self.qemu() as qemu:
            for _ in range(20_000):
                with contextlib.suppress(BlockingIOError):
                    qemu.ring(0)

    def breaks_it(self, chance):
        with self.qemu() as qemu, Driver(qemu, timeout=10) as driver:
            driver.connect()
            driver.queues[0].set_producer(5000)
            driver.queues[0].notify()
            time.sleep(MOMENT)


# ---- another host --------------------------------------------------------------------------


class SlowHost(Party):
    def __init__(self, address, certificate, key, ca, data_dir):
        super().__init__([self.takes_no_answers])
        self.address, self.files, self.ca = address, (certificate, key), ca
        self.data_dir = Path(data_dir)

    def some_block(self, chance):
        """(pool, id, generation stamp) of the datanode's, and its storage."""
        found = list(self.data_dir.glob("current/BP-*/current/finalized/**/*.meta"))
        if not found:
            raise Gone
        meta = chance.choice(found)
        _, number, genstamp = meta.stem.split("_")
        version = (self.data_dir / "current/VERSION").read_text()
        (storage,) = [
            line.partition("=")[2] for line in version.splitlines() if line.startswith("storageID")
        ]
        return meta.relative_to(self.data_dir).parts[1], int(number), int(genstamp), storage

    @contextlib.contextmanager
    def connection(self):
        with wire.connect(self.address, self.files, self.ca, hello=False) as c:
            c.send(wire.HELLO, 0, wire.hello_body())
            self.answer(c, wire.HELLO)
            yield c

    def answer(self, c, kind):
        message = c.until(kind, wire.FAILED)
        if not message or message[0] != kind:
            raise Gone
        return message[3]

    def takes_no_answers(self, chance):
        pool, number, genstamp, storage = self.some_block(chance)
        body = wire.open_body(pool, number, genstamp, [storage])
        with contextlib.ExitStack() as stack:
            for _ in range(chance.randrange(1, 9)):
                c = stack.enter_context(self.connection())
                c.send(wire.OPEN, 1, body)
                handle = self.answer(c, wire.OPENED)[:4]
                for n in range(READS):
                    c.send(wire.READ, n + 2, handle + struct.pack("<IQ", 4 << 20, 0))
            time.sleep(3 * MOMENT)


# ---- processes -----------------------------------------------------------------------------

KINDS = {"user": User, "qemu": Emulator, "host": SlowHost}


class Parties:
    def __init__(self, arguments, seed):
        """arguments: {kind: those of its class}"""
        self._ended = {}
        self._processes = {
            kind: subprocess.Popen(
                [sys.executable, "-m", __spec__.name, kind, str(seed), *map(str, words)],
                cwd=REPOSITORY,
                stdout=subprocess.PIPE,
                env=os.environ,
            )
            for kind, words in arguments.items()
        }

    def end(self):
        for process in self._processes.values():
            process.terminate()
        for kind, process in self._processes.items():
            said, _ = process.communicate(timeout=60)
            self._ended[kind] = json.loads(said) if process.returncode == 0 else {}

    def turns(self):
        """{party: {what it did: how often}}; {}: it ended by itself, with an error."""
        return self._ended


@contextlib.contextmanager
def hostile_parties(arguments, seed):
    parties = Parties(arguments, seed)
    try:
        yield parties
    finally:
        parties.end()


if __name__ == "__main__":
    KINDS[sys.argv[1]](*sys.argv[3:]).run(random.Random(int(sys.argv[2])))
