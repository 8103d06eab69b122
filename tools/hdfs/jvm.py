# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs Hadoop's Java programs, for tools/hdfs, benches and tests: daemons and one-shot commands."""

import os
import signal
import subprocess
import time
from pathlib import Path

from tools.hdfs.errors import HdfsError
from tools.patience import Patience

# Hadoop 3.4 reflects into these packages; without the flags JDK 17 refuses.
OPENED = ("lang", "nio", "util", "net", "io", "util.concurrent")
# In a JVM that lives for seconds or minutes the second compiler costs more than it saves.
SHORT_LIVED = ("-XX:TieredStopAtLevel=1",)
ARCHIVE = "classes.jsa"  # beside the folder of the jars; see class_archive.py


def java_command(class_path, main, arguments=(), heap_mib=128, log_level="INFO", options=()):
    class_path, archived = _with_archive(class_path)
    command = [program(), f"-Xmx{heap_mib}m", "-XX:+UseSerialGC", "-Xshare:auto", *archived]
    command += [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in OPENED]
    command += ["--add-opens=java.base/sun.nio.ch=ALL-UNNAMED"]
    command += [f"-Dhadoop.root.logger={log_level},console", "-Djava.net.preferIPv4Stack=true"]
    command += [*options, "-cp", class_path, main, *arguments]
    return command


def program():
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


def _with_archive(class_path):
    """The class path and the options that use the class data archive of Hadoop's jars in it.

    An archive fits only a class path that begins with its own, so the jars are moved to the front.
    They shadow nothing there: they contain no configuration files.
    """
    entries = class_path.split(":")
    for jars in entries:
        archive = Path(jars).parents[1] / ARCHIVE if jars.endswith("/lib/*") else None
        if archive and archive.exists():
            others = [entry for entry in entries if entry != jars]
            return ":".join([jars, *others]), [f"-XX:SharedArchiveFile={archive}"]
    return class_path, []


def run(command, what, stdin=None, stdout=subprocess.PIPE, timeout=600):
    """Runs a one-shot command and returns its standard output.  If it fails, raises HdfsError."""
    try:
        done = subprocess.run(
            command, stdin=stdin or subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
            timeout=timeout,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise HdfsError(f"{command[0]} is not installed; run `make setup`") from error
    except subprocess.TimeoutExpired as error:
        raise HdfsError(f"{what}: no end after {timeout} s") from error
    if done.returncode != 0:
        complaint = done.stderr.decode(errors="replace").strip()[-2000:]
        raise HdfsError(f"{what} failed (exit {done.returncode}): {complaint}")
    return done.stdout


class Daemon:
    """One long-running JVM, or another daemon beside Hadoop's.  It has its own session, so that
    Ctrl-C reaches this program only, and this program stops the JVM in order.  If this program is
    killed, the JVM dies with it."""

    def __init__(self, name, command, log, environment=None):
        self.name = name
        self.log = log
        with open(log, "ab") as sink:
            self._log_start = sink.tell()
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command],
                stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True,
                env=environment,
            )  # fmt: skip

    @property
    def pid(self):
        return self._process.pid

    def alive(self):
        return self._process.poll() is None

    def log_tail(self, lines=25):
        text = self.log.read_text(errors="replace").splitlines()
        return "\n".join(text[-lines:])

    def logged(self, text):
        """True if this process, not an earlier one with the same log, wrote the text."""
        with open(self.log, "rb") as log:
            log.seek(self._log_start)
            return text.encode() in log.read()

    def failure(self, what):
        state = "is running" if self.alive() else f"ended with exit {self._process.returncode}"
        return HdfsError(
            f"{self.name}: {what}; the process {state}; end of {self.log}:\n{self.log_tail()}"
        )

    def stop(self, timeout=15):
        if self.alive():
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def kill(self):
        self._process.kill()
        self._process.wait()


def wait_until(ready, daemons, what, timeout):
    """Polls ready() until it is true.  Raises HdfsError if a daemon ends or the time is over."""
    patience = Patience(timeout)
    while True:
        found = ready()
        for daemon in daemons:
            if not daemon.alive():
                raise daemon.failure(f"ended while waiting for {what}")
        if found:
            return
        if patience.is_over():
            raise daemons[-1].failure(f"no {what} within {timeout} s")
        time.sleep(0.2)
