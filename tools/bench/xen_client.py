# SPDX-License-Identifier: GPL-2.0-or-later
"""The warm client JVM of tools/bench/java in a client domU.

    hdfs = Hdfs(host, backend, client_files=XenClient.files(), ...)
    with XenClient(hdfs) as client:
        client.mount("tcp", {})
        client.ask("seq", "tcp", "/file", 1 << 20)      # {"bytes": ..., "seconds": ...}

Starting a JVM takes longer than to read a file of some size, so what is to be measured runs in
one that is up.
"""

import json
import queue
import subprocess
import tempfile
import time
from pathlib import Path

from tools.hdfs import hadoop_class_path
from tools.lab.cache import cached, key_of
from tools.lab.paths import REPOSITORY, LabError
from tools.lab.product import PLUGIN

SOURCES = REPOSITORY / "tools" / "bench" / "java"
MAIN = "HdfsBench"
JAR = "/usr/share/java/hdfs-bench.jar"
HEAP = "96m"
# Plain references, as the program wants them; the class data archive is of no use then.
OPTIONS = "-XX:-UseCompressedOops -XX:-UseCompressedClassPointers"
TIMEOUT = 600.0


class XenClient:
    def __init__(self, hdfs) -> None:
        """`hdfs` is a tools.lab.hadoop.Hdfs whose client is up."""
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._partial = b""
        environment = f"HADOOP_CLASSPATH={PLUGIN}:{JAR} HADOOP_HEAPSIZE_MAX={HEAP}"
        command = f'{environment} HADOOP_OPTS="{OPTIONS}" exec hdfs {MAIN}'
        self._process = hdfs.client.popen(command, sink=self._received)

    @staticmethod
    def files() -> dict[str, Path]:
        """What the client domU has to have for it."""
        sources = sorted(SOURCES.glob("*.java"))
        key = key_of([path.read_bytes() for path in sources])
        return {JAR: cached("hdfs-bench", ".jar", key, lambda path: _compile(sources, path))}

    def __enter__(self) -> "XenClient":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def mount(self, name: str, properties: dict[str, str]) -> None:
        """A FileSystem of its own, with its own sockets and caches."""
        properties = {"dfs.client.context": name} | properties
        self.ask("mount", name, *(f"{key}={value}" for key, value in properties.items()))

    def ask(self, *words) -> dict:
        """The answer to one command."""
        self._process.write((" ".join(str(word) for word in words) + "\n").encode())
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                return json.loads(self._lines.get(timeout=0.5))
            except queue.Empty:
                self._check(words, deadline)

    def close(self) -> None:
        """Its statistics are written when it has ended."""
        if self._process.running:
            self._process.close_stdin()
            self._process.wait(TIMEOUT)

    def _check(self, words, deadline: float) -> None:
        said = self._process.stderr[-4000:].decode(errors="replace")
        if not self._process.running and self._lines.empty():
            raise LabError(f"HDFS client: {words}: it ended:\n{said}")
        if time.monotonic() > deadline:
            raise LabError(f"HDFS client: {words}: no answer within {TIMEOUT} s:\n{said}")

    def _received(self, data: bytes) -> None:
        *whole, self._partial = (self._partial + data).split(b"\n")
        for line in whole:
            self._lines.put(line)


def _compile(sources: list[Path], jar: Path) -> None:
    with tempfile.TemporaryDirectory() as classes:
        for command in (
            ["javac", "-nowarn", "-d", classes, "-cp", f"{hadoop_class_path()}/*", *sources],
            ["jar", "cf", jar, "-C", classes, "."],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise LabError(f"{command[0]} {SOURCES}: {done.stderr.strip()}")
