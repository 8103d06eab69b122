# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs shell commands on the hosts of a target: on this machine, by ssh, or by a command that
reaches the host, such as `docker exec -i dn1 sh -c`.

A host has three calls: run(), start() and put().  Hosts differ in the words before the shell
command only.  Children get a session of their own, so that Ctrl-C reaches only vread-bench, which
lets the running round end.
"""

import shlex
import subprocess

from .errors import BenchError

TIMEOUT = 600  # of one command; a client has its own limit
CONNECT = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=30", "-o", "ServerAliveInterval=15"]


class Host:
    """This machine.  Other hosts differ in the words before the shell command."""

    def __init__(self, name, words=("sh", "-c")):
        self.name = name
        self._words = list(words)

    def run(self, command, stdin=b"", timeout=TIMEOUT):
        """The standard output of a shell command that must succeed."""
        try:
            done = subprocess.run(
                [*self._words, command],
                input=stdin,
                capture_output=True,
                timeout=timeout,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired as error:
            raise BenchError(f"{self.name}: `{command}`: no end after {timeout} s") from error
        except OSError as error:
            raise BenchError(f"{self.name}: {error}") from error
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()[-1000:]
            raise BenchError(f"{self.name}: `{command}` ended with {done.returncode}: {said}")
        return done.stdout

    def start(self, command, log):
        """A running command with pipes as standard input and output.  log: file for its errors."""
        return subprocess.Popen(
            [*self._words, command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )

    def put(self, content, path):
        """Writes a file whole: a reader never sees a part of it."""
        quoted, fresh = shlex.quote(path), shlex.quote(f"{path}.new")
        self.run(f"cat >{fresh} && mv {fresh} {quoted}", stdin=content)


def ssh(name, host, user=None, port=22, identity=None, options=()):
    words = ["ssh", *CONNECT, "-p", str(port)]
    words += ["-i", identity, "-o", "IdentitiesOnly=yes"] if identity else []
    for option in options:
        words += ["-o", option]
    return Host(name, [*words, f"{user}@{host}" if user else host, "--"])
