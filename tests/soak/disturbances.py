# SPDX-License-Identifier: GPL-2.0-or-later
"""What may happen to vRead in a soak.  Each disturbance is a function of the bed and a random
generator.  It returns when everything that it ended or stopped runs again.

DISTURBANCES has them all, by name.
"""

import contextlib
import os
import signal
import socket
import subprocess
import time

from tests.soak.bed import HERE, THERE
from tools.vreadd import REPOSITORY

VREAD = REPOSITORY / "build/release/vread"
NO_IMAGE = "[datanode new]\nimage = /nonexistent/new.raw\ndata-dirs = /data\n"
RESTS = (0.1, 3.0)  # s that a process is stopped


def rest(chance):
    time.sleep(chance.uniform(*RESTS))


def either(bed, chance):
    """One of the two vreadds."""
    return chance.choice([bed.here, bed.there])


# ---- vreadd -------------------------------------------------------------------------------------


def vreadd_restarts(bed, chance):
    daemon = either(bed, chance)
    daemon.end()
    daemon.start()


def vreadd_is_killed(bed, chance):
    daemon = either(bed, chance)
    daemon.kill()
    rest(chance)
    daemon.start()


def vreadd_hangs(bed, chance):
    daemon = either(bed, chance)
    daemon.suspend()
    rest(chance)
    daemon.resume()


def vreadd_reloads(bed, chance):
    """A datanode is added to the configuration and taken out again."""
    daemon = either(bed, chance)
    plain = daemon.sections
    for sections in (plain + NO_IMAGE, plain):
        daemon.sections = sections
        daemon.write_config()
        daemon.ask("reload")
        rest(chance)


# ---- parsers ------------------------------------------------------------------------------------


def parsers(daemon):
    found = (datanode.get("parser", {}) for datanode in daemon.status()["datanodes"])
    return [parser["pid"] for parser in found if "pid" in parser]


def send(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def parser_is_killed(bed, chance):
    for pid in parsers(either(bed, chance)):
        send(pid, signal.SIGKILL)


def parser_hangs(bed, chance):
    stopped = parsers(either(bed, chance))
    for pid in stopped:
        send(pid, signal.SIGSTOP)
    rest(chance)
    for pid in stopped:
        send(pid, signal.SIGCONT)


# ---- clients ------------------------------------------------------------------------------------


def client_is_killed(bed, chance):
    """Another program reads a block and is killed meanwhile."""
    name, daemon = chance.choice([(HERE, bed.here), (THERE, bed.there)])
    (root,) = bed.hdfs.datanode(name).data_dirs
    blocks = list(root.glob("current/BP-*/current/finalized/**/*.meta"))
    if not blocks:
        return
    meta = chance.choice(blocks)
    pool = meta.relative_to(root).parts[1]
    program = subprocess.Popen(
        [VREAD, "--endpoint", daemon.endpoint, "cat", f"{pool}/{meta.stem}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(chance.uniform(0, 0.05))
    program.kill()
    program.wait()


def clients_hang_up(bed, chance):
    """Many connect to the local port, say nothing or nonsense, and hang up."""
    endpoint = either(bed, chance).endpoint
    for _ in range(50):
        caller = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with caller, contextlib.suppress(OSError):
            caller.connect(endpoint)
            caller.send(chance.randbytes(chance.randrange(1, 64)))


# ---- datanodes and images -----------------------------------------------------------------------


def datanode_is_killed(bed, chance):
    """The other datanodes have a replica of each of its blocks."""
    name = chance.choice([HERE, THERE])
    bed.hdfs.datanode(name).kill()
    rest(chance)
    bed.hdfs.start_datanode(name)


def image_is_mounted_again(bed, chance):
    """A datanode's machine reboots: its file system is unmounted, and mounted again."""
    datanode = bed.hdfs.datanode(chance.choice([HERE, THERE]))
    datanode.stop()
    bed.hdfs.remount(datanode.name)
    bed.hdfs.start_datanode(datanode.name)


def image_is_frozen(bed, chance):
    """As for a snapshot of the disk."""
    root = bed.hdfs.datanode(chance.choice([HERE, THERE])).disk.view
    subprocess.run(["fsfreeze", "--freeze", root], check=True)
    try:
        rest(chance)
    finally:
        subprocess.run(["fsfreeze", "--unfreeze", root], check=True)


DISTURBANCES = {
    each.__name__: each
    for each in (
        vreadd_restarts,
        vreadd_is_killed,
        vreadd_hangs,
        vreadd_reloads,
        parser_is_killed,
        parser_hangs,
        client_is_killed,
        clients_hang_up,
        datanode_is_killed,
        image_is_mounted_again,
        image_is_frozen,
    )
}
