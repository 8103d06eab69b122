# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the measuring client (java/) for one round, or to make the files that are read.

The client is told by lines on its standard input.  It answers to each of `ready`, `go` and `check`
with one line of JSON, and does nothing in between, so that `session` can read counters.  The client
ends when its standard input ends.  The line `new` makes it forget all lines before: Clients keeps
one client for all rounds of a target that wants it.
"""

import contextlib
import json
import os
import select
import signal
import tempfile
import threading
import time
from pathlib import Path

from .errors import BenchError

JARS = ("vread-bench.jar", "HdrHistogram.jar")
HERE = Path(__file__).resolve()
PLACES = (HERE.parents[1], HERE.parents[2] / "build" / "java")  # installed, in the source tree
HISTOGRAM = Path("/usr/share/java/hdrhistogram.jar")  # of libhdrhistogram-java


class Client:
    """Use as a context manager.  what: names the round in errors."""

    def __init__(self, target, what):
        self._client, self.what = target.client, what
        self._process = self._log = None

    def __enter__(self):
        self._log = tempfile.TemporaryFile()
        self._process = self._client.host.start(self._client.command, self._log)
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        timer = threading.Timer(30, self._kill)
        timer.start()
        self._process.wait()
        timer.cancel()
        self._process.stdout.close()
        self._log.close()

    def tell(self, *words):
        try:
            self._process.stdin.write(" ".join(str(word) for word in words) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise self._failed("takes no command") from error

    def ask(self, word):
        """Sends the word; returns the answer, which is one JSON object in a line."""
        self.tell(word)
        deadline = time.monotonic() + self._client.timeout
        while not select.select([self._process.stdout], [], [], 1)[0]:
            if time.monotonic() > deadline:
                self._kill()
                raise self._failed(f"{word}: no answer within {self._client.timeout} s")
        line = self._process.stdout.readline()
        try:
            answer = json.loads(line)
        except ValueError as error:
            raise self._failed(f"{word}: no JSON in {line[:200]!r}") from error
        if not isinstance(answer, dict):
            raise self._failed(f"{word}: expected a JSON object, got {line[:200]!r}")
        if "error" in answer:
            raise self._failed(f"{word}: {answer['error']}")
        return answer

    def _kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _failed(self, text):
        self._log.seek(0)
        said = self._log.read().decode(errors="replace").strip()[-2000:]
        return BenchError(f"{self.what}: client: {text}\n{said}".rstrip())


class Clients:
    """The clients of a run: one for each round, or for all rounds of a target that says `keep`."""

    def __init__(self):
        self._kept = {}  # name of the target: Client

    @contextlib.contextmanager
    def round(self, target, what):
        """Yields a client that knows nothing yet.  After an error no client is kept."""
        client = self._kept.pop(target.name, None)
        if client:
            client.what = what
        else:
            client = Client(target, what).__enter__()
        try:
            client.tell("new")
            yield client
        except BaseException:
            client.__exit__()
            raise
        if target.client.keep:
            self._kept[target.name] = client
        else:
            client.__exit__()

    def end(self):
        while self._kept:
            self._kept.popitem()[1].__exit__()


def put_jars(target):
    """Puts the client's jars where its command expects them."""
    client = target.client
    client.host.run(f"mkdir -p '{client.folder}'")
    if client.jars:
        for name in JARS:
            client.host.put(_jar(name).read_bytes(), f"{client.folder}/{name}")


def _jar(name):
    paths = [HISTOGRAM] if name == "HdrHistogram.jar" else [place / name for place in PLACES]
    for path in paths:
        if path.exists():
            return path
    raise BenchError(f"{name}: looked for {', '.join(map(str, paths))}; none is there")


def file_path(target, place, spec, index):
    """The HDFS path of a file that cells of this place read."""
    return f"{target.places[place].files}/{spec.size}-{spec.seed}-{index}"


def digests_path(target, path):
    """The client host's file with the digests of an HDFS file."""
    return f"{target.client.folder}/digests{path}"


def tell_round(client, target, spec, step):
    """Tells the client all about a round, up to `ready`."""
    cell = step.cell
    # A kept client has all ways and settings in one JVM.  Each gets its own sockets and caches.
    client.tell("property", "dfs.client.context", f"{cell.way}-{cell.setting}")
    properties = target.ways[cell.way] | target.settings[cell.setting].properties
    for name, value in properties.items():
        client.tell("property", name, value)
    client.tell("workload", cell.workload)
    client.tell("request", cell.request)
    client.tell("readers", cell.readers)
    client.tell("seed", step.seed(spec.seed))
    client.tell("count", spec.preads)
    client.tell("size", spec.size)
    client.tell("written", f"{target.places[cell.place].files}/written")
    for index in range(spec.files):
        path = file_path(target, cell.place, spec, index)
        client.tell("file", path, digests_path(target, path))
    warm = file_path(target, cell.place, spec, "warm")
    client.tell("warm", warm, digests_path(target, warm))
    if target.places[cell.place].datanodes:
        client.tell("datanodes", ",".join(target.places[cell.place].datanodes))
    # What a stub of the client may want to know; the client ignores it.
    client.tell("cell", cell.id, step.round)


def make_files(target, spec, place):
    """Writes the files of a place by stock HDFS, and their digests."""
    with Client(target, f"{target.name}: files of {place}") as client:
        for name, value in target.ways.get("stock", {}).items():
            client.tell("property", name, value)
        client.tell("seed", spec.seed)
        client.tell("size", spec.size)
        for index in [*range(spec.files), "warm"]:
            path = file_path(target, place, spec, index)
            client.tell("file", path, digests_path(target, path))
        if target.places[place].datanodes:
            client.tell("datanodes", ",".join(target.places[place].datanodes))
        return client.ask("make")
