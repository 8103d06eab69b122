# SPDX-License-Identifier: GPL-2.0-or-later
"""A warm client JVM (tools/bench/java) with a FileSystem per configuration, for hdfs.py.

with HdfsClient(cluster) as client:
    client.mount("tcp", {})
    client.ask("seq", "tcp", "/file", 1 << 20)     # {"bytes": ..., "seconds": ...}
"""

import json
import select
import subprocess
import tempfile
from pathlib import Path

from tools.bench.suite import BenchError
from tools.hdfs import hadoop_class_path, jvm
from tools.vreadd import REPOSITORY, process_cpu_seconds

SOURCES = REPOSITORY / "tools" / "bench" / "java"
MAIN = "HdfsBench"
HEAP_MIB = 512
# Plain references: the program needs the addresses of its buffers.
OPTIONS = ["-XX:-UseCompressedOops", "-XX:-UseCompressedClassPointers"]
TIMEOUT = 600


class HdfsClient:
    def __init__(
        self,
        cluster,
        class_path=(),
        library_path=None,
        properties=(),
        classes=None,
        heap_mib=HEAP_MIB,
        options=(),
    ):
        """class_path: before Hadoop's.  library_path: folder of libhadoop.so.  classes: those of
        another client; None: compiles the program.  options: of the JVM."""
        self._cluster = cluster
        self._extra = [str(entry) for entry in class_path]
        self.classes = classes  # folder of the program's classes
        self._heap_mib = heap_mib
        self._options = [*OPTIONS, *options, *(f"-D{name}={value}" for name, value in properties)]
        if library_path:
            self._options.append(f"-Djava.library.path={library_path}")
        self._directory = None
        self._process = None
        self._log = None

    def __enter__(self):
        self._directory = tempfile.TemporaryDirectory(prefix="vread-bench-client-")
        try:
            self._start(Path(self._directory.name))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
        self._directory.cleanup()

    def mount(self, name, properties):
        """Makes a FileSystem with its own sockets and caches, called `name`."""
        properties = {"dfs.client.context": name} | properties
        self.ask("mount", name, *(f"{key}={value}" for key, value in properties.items()))

    def ask(self, *words):
        """Sends one command; returns the answer."""
        self.tell(*words)
        return self.answer(*words)

    def tell(self, *words):
        """Sends one command.  Call answer() before the next."""
        self._process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self._process.stdin.flush()

    def answer(self, *words):
        """Waits for the answer; words: the command, for an error."""
        ready, _, _ = select.select([self._process.stdout], [], [], TIMEOUT)
        if not ready:
            raise BenchError(f"HDFS client: {words}: no answer within {TIMEOUT} s; {self.log()}")
        line = self._process.stdout.readline()
        if not line:
            raise BenchError(f"HDFS client: {words}: it ended:\n{self.log()}")
        return json.loads(line)

    def cpu_seconds(self):
        return process_cpu_seconds(self._process.pid)

    def log(self):
        """The end of what the program, and Hadoop in it, logged."""
        return self._log.read_text(errors="replace")[-4000:]

    def _start(self, directory):
        lib = hadoop_class_path(self._cluster.version)
        self.classes = self.classes or _compile(lib, directory / "classes")
        class_path = [str(self.classes), *self._extra, str(self._cluster.conf_dir), f"{lib}/*"]
        command = jvm.java_command(
            ":".join(class_path),
            MAIN,
            heap_mib=self._heap_mib,
            log_level="WARN",
            options=self._options,
        )
        self._log = directory / "log"
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip


def _compile(lib, classes):
    command = ["javac", "-nowarn", "-d", str(classes), "-cp", f"{lib}/*"]
    jvm.run([*command, *map(str, sorted(SOURCES.glob("*.java")))], "javac tools/bench/java")
    return classes
