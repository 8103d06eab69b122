# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts the shared host back to its state after boot, between two modules of tests.  conftest.py
and test_reset.py use it.

    origin = Origin(host, disks=5)      # of a host that has just booted
    ...                                 # whatever tests do
    origin.restore()

The host has a read-only copy of each disk, numbered after all disks.  Disks are restored from
these copies.  If the host cannot be put back, the next module fails, and the error names the
differences.
"""

from tests.support.waiting import eventually
from tools.lab import LabError, XenHost
from tools.lab.guest import DESTROY_TIMEOUT

# Commands that print one line for each object of that kind.
LOOKS = {
    "domain": "xl list | tail -n +2 | while read -r name id rest; do echo $id; done",
    "process": "cd /proc; for p in [0-9]*; do [ $p = $$ -o ! -e $p/exe ] || echo $p; done",
    "mount": "while read -r device folder rest; do echo $folder; done </proc/mounts",
    "loop device": "losetup -n -O NAME -a",
    "file": "find / -xdev",
}


class Origin:
    def __init__(self, host: XenHost, disks: int) -> None:
        """disks: the number of disks; /dev/vda is the first."""
        self._host = host
        self._disks = [f"vd{chr(ord('a') + i)}" for i in range(disks)]
        self._copies = [f"vd{chr(ord('a') + disks + i)}" for i in range(disks)]
        self._written = self._sectors_written()
        self._were = self._look()

    def restore(self) -> None:
        """Puts the host back.  Asks no running program to end: a test may have left it hanging."""
        self._kill_processes()
        for domain in self._added("domain"):
            self._host.run(["xl", "destroy", domain], DESTROY_TIMEOUT)
        for device in self._added("loop device"):
            self._host.run(["losetup", "--detach", device])  # if mounted, goes with the umount
        for folder in reversed(self._added("mount")):
            self._host.run(["umount", folder])
        self._restore_disks()
        for node in _topmost(self._added("xenstore node")):
            self._host.run(["xenstore-rm", node])
        files = "".join(f"{path}\0" for path in _topmost(self._added("file")))
        self._host.run("xargs -0 -r rm -rf", stdin=files.encode()).check()
        if found := self.differences():
            raise LabError(f"{self._host.name} was not put back: {found}")

    def differences(self) -> dict[str, set[str]]:
        """{kind: objects that were added or are missing since boot}."""
        are = self._look()
        found = {kind: set(are[kind]) ^ set(self._were[kind]) for kind in are}
        found["disk"] = {disk for disk, _ in self._changed_disks()}
        return {kind: things for kind, things in found.items() if things}

    def _look(self) -> dict[str, list[str]]:
        return {kind: self._things(kind) for kind in (*LOOKS, "xenstore node")}

    def _things(self, kind: str) -> list[str]:
        if kind == "xenstore node":
            return list(self._host.xenstore_ls())
        return self._host.text(LOOKS[kind]).splitlines()

    def _added(self, kind: str) -> list[str]:
        """The objects added since boot, in the order in which the command lists them."""
        were = set(self._were[kind])
        return [thing for thing in self._things(kind) if thing not in were]

    def _kill_processes(self) -> None:
        """Repeats until no process is left: some processes start others until they are killed."""

        def none_left() -> bool:
            pids = self._added("process")
            if pids:
                self._host.run(["kill", "-KILL", *pids])
            return not pids

        eventually(none_left, what="the end of all processes")

    def _restore_disks(self) -> None:
        for disk, copy in self._changed_disks():
            whole = f"bs=1M iflag=direct oflag=direct conv=fsync if=/dev/{copy} of=/dev/{disk}"
            self._host.run(f"dd {whole}").check()
        self._written = self._sectors_written()

    def _changed_disks(self) -> list[tuple[str, str]]:
        """[(disk, its copy)] of the disks that were written to since they were restored."""
        now = self._sectors_written()
        pairs = zip(self._disks, self._copies, strict=True)
        return [(d, copy) for d, copy in pairs if now[d] != self._written[d]]

    def _sectors_written(self) -> dict[str, int]:
        """{disk: sectors written}, as the kernel counts them (Documentation/block/stat.rst).
        blkback's writes are included."""
        stats = {d: self._host.text(f"cat /sys/block/{d}/stat").split() for d in self._disks}
        return {disk: int(fields[6]) for disk, fields in stats.items()}


def _topmost(paths: list[str]) -> list[str]:
    """The paths that do not lie below another of the paths."""
    found: list[str] = []
    for path in sorted(paths, key=lambda path: path.split("/")):
        if not (found and path.startswith(f"{found[-1]}/")):
            found.append(path)
    return found
