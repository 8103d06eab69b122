# SPDX-License-Identifier: GPL-2.0-or-later
"""A PostgreSQL server in a folder of its own, on loopback, for export.py.

    with Postgres() as database:
        database.url, database.user, database.password    # for JDBC
        database.ask("SELECT 1")

It is of Debian's package postgresql, and runs as `nobody`, because it refuses to run as root.  Only
root and that user reach its UNIX socket; by TCP it wants a password.
"""

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from pathlib import Path

from tools.hdfs import HdfsError, jvm
from tools.hdfs.ports import free_ports

PROGRAMS = "/usr/lib/postgresql"  # a folder for each version
RUN_AS = "nobody"
START_TIMEOUT = 120
TICKS = os.sysconf("SC_CLK_TCK")


class Postgres:
    user = "postgres"

    def __init__(self):
        self.password = secrets.token_hex(16)
        self._folder = self._process = None
        (self._port,) = free_ports(1)

    def __enter__(self):
        # Short, for the path of the UNIX socket, and below folders that anybody may enter.
        self._folder = Path(tempfile.mkdtemp(prefix="vread-pg-"))
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self._process:
            self._process.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def url(self):
        return f"jdbc:postgresql://127.0.0.1:{self._port}/postgres"

    def ask(self, sql):
        """What psql prints: a line for each row."""
        command = [_program("psql"), "-XAtq", "-h", self._folder, "-p", str(self._port)]
        out = jvm.run([*command, "-U", self.user, "-c", sql], "psql")
        return out.decode().strip()

    def version(self):
        return self.ask("SHOW server_version")

    def cpu_seconds(self):
        """Of the server and of the connections that have ended."""
        stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        return sum(map(int, stat.rpartition(")")[2].split()[11:15])) / TICKS

    def statistics(self):
        return {}  # as a Program's

    def _start(self):
        user = pwd.getpwnam(RUN_AS)
        os.chown(self._folder, user.pw_uid, user.pw_gid)
        password = self._folder / "password"
        password.write_text(self.password)
        os.chown(password, user.pw_uid, user.pw_gid)
        data = self._folder / "data"
        words = ["--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={password}"]
        words += [f"--username={self.user}", "--encoding=UTF8", "--locale=C", "-D", data]
        jvm.run([*_as_user(), _program("initdb"), *words], "initdb")
        password.unlink()
        settings = {
            "port": self._port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self._folder,
            "max_wal_size": "8GB",  # no checkpoint in the middle of an export
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [*_as_user(), _program("postgres"), "-D", data, *options]
        self._process = jvm.Daemon("postgres", list(map(str, command)), self._folder / "log")
        jvm.wait_until(self._is_ready, [self._process], "PostgreSQL", START_TIMEOUT)

    def _is_ready(self):
        command = [_program("pg_isready"), "-q", "-h", self._folder, "-p", str(self._port)]
        return subprocess.run(command).returncode == 0


def _as_user():
    return ["setpriv", f"--reuid={RUN_AS}", "--regid=nogroup", "--clear-groups",
            "--pdeathsig", "KILL"]  # fmt: skip


def _program(name):
    found = sorted(Path(PROGRAMS).glob(f"*/bin/{name}"))
    if not found:
        raise HdfsError(f"no {PROGRAMS}/*/bin/{name}: install Debian's package postgresql")
    return found[-1]
