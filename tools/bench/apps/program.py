# SPDX-License-Identifier: GPL-2.0-or-later
"""A program of an application: a process that takes commands and answers, as java/Commands.java
says.

    with JavaProgram("spark", "SparkJobs", ["SparkJobs.java"], jars, folder) as program:
        program.ask("query", "SELECT 1")
"""

import contextlib
import json
import os
import select
import subprocess
from pathlib import Path

from tools.bench.suite import BenchError
from tools.hdfs import jvm
from tools.vreadd import process_cpu_seconds

SOURCES = Path(__file__).with_name("java")
ANSWER_TIMEOUT = 1800
LOG_TAIL = 4000
# What Spark and HBase reach into beside jvm.OPENED.
OPENED = (
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
)


class Program:
    """Starts `command` in a new folder.  Use as a context manager."""

    def __init__(self, name, command, folder, environment=None):
        self.name = name
        self._command = command
        self._folder = Path(folder)
        self._environment = environment or {}
        self._process = None

    def __enter__(self):
        self._folder.mkdir(parents=True, exist_ok=True)
        with open(self.log_path, "wb") as log:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *map(str, self._command)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                cwd=self._folder, env=os.environ | self._environment,
            )  # fmt: skip
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()

    @property
    def log_path(self):
        return self._folder / "log"

    def ask(self, *words):
        command = "\t".join(map(str, words))
        with contextlib.suppress(BrokenPipeError):  # it has ended, which readline() tells
            self._process.stdin.write(command + "\n")
            self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], ANSWER_TIMEOUT)
        line = self._process.stdout.readline() if ready else ""
        if not line:
            what = "it ended" if ready else f"no answer within {ANSWER_TIMEOUT} s"
            raise BenchError(f"{self.name}: {command}: {what}:\n{self.log()}")
        answer = json.loads(line)
        if "error" in answer:
            raise BenchError(f"{self.name}: {command}: {answer['error']}\n{self.log()}")
        return answer

    def log(self):
        return self.log_path.read_text(errors="replace")[-LOG_TAIL:]

    def log_size(self):
        return self.log_path.stat().st_size

    def log_from(self, start):
        """What was logged after log_size() was `start`."""
        return self.log_path.read_bytes()[start:].decode(errors="replace")

    def cpu_seconds(self):
        return process_cpu_seconds(self._process.pid)

    def statistics(self):
        """The document of io.vread.statistics.file; empty without the plug-in."""
        return self.ask("statistics")


class JavaProgram(Program):
    """sources: names of files of SOURCES, beside Commands.java.  class_path: entries, in order.
    arguments: of the program."""

    def __init__(self, name, sources, class_path, folder, heap_mib, arguments=(), options=()):
        folder = Path(folder)
        classes = folder / "classes"
        entries = [str(entry) for entry in class_path]
        command = ["javac", "-nowarn", "-d", str(classes), "-cp", ":".join(entries)]
        command += [str(SOURCES / source) for source in ("Commands.java", *sources)]
        folder.mkdir(parents=True, exist_ok=True)
        jvm.run(command, f"javac {name}")
        opened = [f"--add-opens={package}=ALL-UNNAMED" for package in OPENED]
        java = jvm.java_command(
            ":".join([str(classes), *entries]),
            sources[0].removesuffix(".java"),
            list(arguments),
            heap_mib=heap_mib,
            log_level="WARN",
            options=[*opened, *options],
        )
        super().__init__(name, java, folder)
