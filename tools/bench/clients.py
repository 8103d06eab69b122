# SPDX-License-Identifier: GPL-2.0-or-later
"""vreadbench processes as clients of a native vreadd, several at once; for the suites image and
scale.

    each = clients.run_together(daemon, [lines_of_first, lines_of_second])
"""

import json
import subprocess
import time
from contextlib import contextmanager

from tools.bench.suite import BenchError
from tools.vreadd import REPOSITORY

VREADBENCH = REPOSITORY / "build" / "release" / "vreadbench"
TIMEOUT = 300


def command(daemon, api, request):
    """The words that start a client, which then takes lines of blocks on its standard input."""
    return [VREADBENCH, "-e", daemon.endpoint, "-a", api, "-r", str(request)]


def run_together(daemon, lists, request):
    """Starts a client for each list of blocks, which reads in order.  When all have connected,
    gives each its list.  What each has measured."""
    clients = [start(command(daemon, "read", request)) for _ in lists]
    try:
        wait_connected(daemon, len(clients))
        for client, lines in zip(clients, lists, strict=True):
            client.stdin.write(lines)
            client.stdin.close()
            client.stdin = None
        return [_finish(client, daemon) for client in clients]
    finally:
        for client in clients:
            client.kill()
            client.wait()


def start(words):
    pipe = subprocess.PIPE
    return subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def wait_connected(daemon, count):
    """Waits until that many have connected."""
    deadline = time.monotonic() + TIMEOUT
    while daemon.status()["ports"]["local"]["connections"] < count:
        if time.monotonic() > deadline:
            raise BenchError(f"{count} clients: not all of them connect")
        time.sleep(0.005)


@contextmanager
def counted(daemon):
    """Yields a list whose item is, afterwards, the CPU seconds of vreadd meanwhile."""
    spent = [0.0]
    before = daemon.cpu_seconds()
    yield spent
    spent[0] = daemon.cpu_seconds() - before


def together(each, daemon_cpu_seconds):
    """The figures of all clients and vreadd together."""
    return {
        "bytes": sum(figures["bytes"] for figures in each),
        "seconds": max(figures["seconds"] for figures in each),
        "cpu_seconds": sum(figures["cpu_seconds"] for figures in each) + daemon_cpu_seconds,
    }


def _finish(client, daemon):
    out, complaint = client.communicate(timeout=TIMEOUT)
    if client.returncode:
        raise BenchError(f"vreadbench: {complaint.strip()}\nvreadd's log ends:\n{daemon.log()}")
    return json.loads(out)
