# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the same blocks without vRead, in whole and by parts, for the xen suite.

A datanode domU has the datanode's disk through blkfront and blkback, mounts its file system and
serves the blocks over netfront, bridge and netback to the client domU:

    vanilla = Vanilla(host, client, data)      # makes the datanode domU
    vanilla.fetch()                            # disk and network, into the client's memory
    vanilla.read_disk(); vanilla.fetch_memory()     # the disk alone, the network alone
    vanilla.digest()                           # SHA-256 of what the client got

Every read of the disk starts with the datanode's page cache empty.  Each reading is a dictionary:
bytes, seconds, and cpu, the CPU time {domain: seconds} of all domains meanwhile.
"""

import json
from collections.abc import Callable

from tools.lab.paths import REPOSITORY

PROGRAM = "/usr/local/bin/blockstream"
DISK = "phy:/dev/vda,xvda,r"
MOUNT = "/mnt"
FILES = "/blocks.files"
ADDRESS = "10.77.0.101"
DISK_PORT, MEMORY_PORT = 9866, 9867
START_TIMEOUT = 60.0
READ_TIMEOUT = 600.0


def guest_files(variant: str = "release") -> dict:
    """The files that the client domU needs."""
    return {PROGRAM: REPOSITORY / "build" / variant / "blockstream"}


def timed(host, run: Callable[[], dict]) -> dict:
    """What run() measured, and the CPU seconds every domain spent meanwhile."""
    before = host.cpu_seconds()
    measured = run()
    after = host.cpu_seconds()
    cpu = {name: after[name] - before.get(name, 0.0) for name in after}
    return {"bytes": measured["bytes"], "seconds": measured["seconds"], "cpu": cpu}


class Vanilla:
    def __init__(self, host, client, data, name: str = "datanode", memory_mib: int = 256) -> None:
        """`data` is a tools.hdfs.demo_data.DemoData whose image is the host's first disk."""
        self._host, self._client = host, client
        self.guest = host.create_guest(
            name, memory_mib=memory_mib, disks=[DISK], vifs=[ADDRESS], files=guest_files()
        )
        self._mount(data)
        self._serve(f"{DISK_PORT} < {FILES}")
        self._serve(f"{MEMORY_PORT} {data.size}")

    def fetch(self) -> dict:
        self.forget_disk()
        return timed(self._host, lambda: self._fetch(DISK_PORT))

    def fetch_memory(self) -> dict:
        """The network alone: as many bytes, out of the datanode domU's memory."""
        return timed(self._host, lambda: self._fetch(MEMORY_PORT))

    def read_disk(self) -> dict:
        """The disk alone: into the datanode domU's memory."""
        self.forget_disk()
        return timed(self._host, lambda: _report(self.guest, f"{PROGRAM} read < {FILES}"))

    def digest(self) -> str:
        command = f"set -o pipefail; {PROGRAM} cat {ADDRESS} {DISK_PORT} | sha256sum"
        return self._client.text(command, READ_TIMEOUT).split()[0]

    def forget_disk(self) -> None:
        """Empties the datanode's page cache."""
        self.guest.run("sync; echo 3 > /proc/sys/vm/drop_caches").check()

    def _mount(self, data) -> None:
        facts = data.image_facts
        device = f"/dev/xvda{facts.partition or ''}"
        self.guest.run(f"mount -t ext4 -o ro,noload {device} {MOUNT}").check()
        folder = f"{MOUNT}{facts.data_dirs[0].path}"
        names = "".join(f"{folder}/{block.relative_path()}\n" for block in data.blocks)
        self.guest.run(f"cat > {FILES}", stdin=names.encode()).check()

    def _serve(self, arguments: str) -> None:
        server = self.guest.popen(f"exec {PROGRAM} serve {arguments}")
        server.wait_output("listening", START_TIMEOUT)

    def _fetch(self, port: int) -> dict:
        return _report(self._client, f"{PROGRAM} fetch {ADDRESS} {port}")


def _report(guest, command: str) -> dict:
    return json.loads(guest.run(command, READ_TIMEOUT).check().stderr)
