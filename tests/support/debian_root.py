# SPDX-License-Identifier: GPL-2.0-or-later
"""A fresh Debian, 12 or 13, with its own systemd, in which tests install packages.

with DebianRoot("bookworm", folder) as root:
    root.copy(package, "/srv/")
    root.run("apt-get", "install", "-y", "/srv/package.deb")

debootstrap makes the folder.  Its systemd runs as the first process of a PID namespace, with its
own mounts and control group, but with this machine's network, for apt. /sys and /proc/sys are
read-only, so this machine is not changed. All processes and mounts end with the process that
started them.
"""

import os
import shutil
import subprocess
from pathlib import Path

from tests.support.waiting import eventually
from tools import debootstrap

# With all that a guest's packages need to build a module: large, and no part of the test.
INCLUDED = ("systemd", "systemd-sysv", "ca-certificates", "dkms", "linux-headers-amd64")
SOURCES = """\
deb http://deb.debian.org/debian {suite} main
deb http://deb.debian.org/debian {suite}-updates main
deb http://deb.debian.org/debian-security {suite}-security main
"""
STARTED_WITHIN = 600  # on a busy machine
# Argument: the folder.
BOOT = """
set -eu
root=$1
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for folder in run tmp dev; do mount -t tmpfs tmpfs "$root/$folder"; done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts devpts "$root/dev/pts"
for device in null zero full random urandom tty; do cp -a "/dev/$device" "$root/dev/"; done
ln -s /proc/self/fd "$root/dev/fd"
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \\
    chroot "$root" /lib/systemd/systemd --system --unit=multi-user.target
"""


def _cgroups():
    """The mount point of this machine's unified control group hierarchy."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, path, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(path)
    raise RuntimeError("no cgroup2 is mounted here: systemd needs one")


class DebianRoot:
    def __init__(self, suite, folder):
        self.suite = suite
        self.path = Path(folder)
        self._cgroup = _cgroups() / f"vread-test-{os.getpid()}"
        self._unshare = None

    def __enter__(self):
        packed = debootstrap.packed(self.suite, INCLUDED)
        self.path.mkdir()
        try:
            subprocess.run(["tar", "-C", self.path, "-xpf", packed], check=True)
            shutil.copy("/etc/resolv.conf", self.path / "etc/resolv.conf")
            self.file("/etc/apt/sources.list").write_text(SOURCES.format(suite=self.suite))
            self._boot()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_):
        self._end()

    def _boot(self):
        self._cgroup.mkdir()
        namespaces = ["--mount", "--pid", "--fork", "--uts", "--ipc", "--cgroup"]
        # When this process ends, all of them end.
        command = ["setpriv", "--pdeathsig", "KILL"]
        command += ["unshare", *namespaces, "--kill-child", "sh", "-c", BOOT, "sh", self.path]

        def join_cgroup():
            (self._cgroup / "cgroup.procs").write_text(str(os.getpid()))

        self._unshare = subprocess.Popen(
            command, preexec_fn=join_cgroup, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )

        def runs():
            assert self._unshare.poll() is None, "systemd ended"
            return self.run("systemctl", "is-system-running", check=False).strip() == "running"

        eventually(runs, STARTED_WITHIN, "a system that runs")

    def _init(self):
        pid = self._unshare.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return children[0] if children else "0"

    def _end(self):
        if self._unshare:
            self._unshare.kill()
            self._unshare.wait()
        eventually(lambda: not self._processes(), what=f"the end of all in {self._cgroup}")
        for group, _, _ in os.walk(self._cgroup, topdown=False):
            os.rmdir(group)
        shutil.rmtree(self.path)

    def _processes(self):
        lists = self._cgroup.rglob("cgroup.procs")
        return [pid for path in lists for pid in path.read_text().split()]

    def run(self, *command, check=True, timeout=900, stdin=None):
        """Returns standard output and standard error of a command; raises an error if it fails."""
        enter = ["nsenter", "--target", self._init(), "--mount", "--pid", "--uts", "--ipc"]
        enter += ["--cgroup", "--root", "--wd"]
        environment = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"]
        environment += ["DEBIAN_FRONTEND=noninteractive"]
        done = subprocess.run(
            [*enter, *environment, *command],
            stdin=stdin or subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
        )
        text = done.stdout.decode(errors="replace")
        assert not check or done.returncode == 0, f"{command} ended with {done.returncode}:\n{text}"
        return text

    def output(self, *command):
        """Returns the bytes that a command writes to its standard output."""
        enter = ["nsenter", "--target", self._init(), "--mount", "--pid", "--root", "--wd"]
        return subprocess.run([*enter, *command], check=True, stdout=subprocess.PIPE).stdout

    def file(self, path):
        """The path on this machine of a file in the Debian."""
        return self.path / path.lstrip("/")

    def files(self, *but_below):
        """The paths of everything on the Debian's disk, except below some folders."""
        found = set()
        for folder, folders, files in os.walk(self.path):
            inside = "/" + str(Path(folder).relative_to(self.path)).removeprefix(".")
            folders[:] = [f for f in folders if os.path.join(inside, f) not in but_below]
            found.update(os.path.join(inside, name) for name in folders + files)
        return found
