# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts a real vreadd on a small image, for tests that speak the protocol to vreadd.

image = Image(tmp_path)
daemon = Daemon(tmp_path, image, local="max-connections = 2\\n")
with daemon.front() as front: ...
assert daemon.stop() == 0      # not 0 if a sanitizer found an error
"""

import contextlib
import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from tests.support.hdfs_dir import POOL, DataDirectory
from tests.support.localfront import LocalFront
from tests.support.waiting import eventually
from tools.images import make_datanode_image
from tools.images.layout import write_layout

REPOSITORY = Path(__file__).resolve().parents[2]
STORAGE = "DS-1"
LOOKED = "every datanode was looked into"
LOOK = ": looked into "  # logged after each look
LOOK_INTERVAL = 60  # s
PUBLISHER = "publish-datanodes = dn1\n"  # in [local]
SIZES = {  # block id: bytes
    1073741825: 9 * 1024 * 1024 + 333,
    1073741826: 70_000,
    1073741827: 1,
}


def binary(variant="asan"):
    path = REPOSITORY / "build" / variant / "vreadd"
    assert path.exists(), f"{path}: build it with make all VARIANT={variant}"
    return path


def vreadd_with_parser(folder, script):
    """A vreadd in a folder of its own, with a shell script in place of vread-parser.  `exec $REAL`
    in the script goes on as the real one."""
    folder.mkdir()
    for name in ("vreadd", "vread-key-agent"):
        shutil.copy(binary().with_name(name), folder)
    parser = folder / "vread-parser"
    parser.write_text(f"#!/bin/sh\nREAL={binary().with_name('vread-parser')}\n{script}\n")
    parser.chmod(0o755)
    return folder / "vreadd"


def release():
    """The release of the programs that are tested."""
    return subprocess.check_output([binary(), "--version"], text=True).split()[1]


def copy_of_another_release(name, path):
    """Copies a program of the backend that then says it is of another release; returns which."""
    ours, other = release(), f"9{release()[1:]}"
    data = binary().with_name(name).read_bytes()
    assert ours.encode() in data
    new = path.with_name(f"{path.name}.new")
    new.write_bytes(data.replace(ours.encode(), other.encode()))
    new.chmod(0o755)
    new.rename(path)
    return other


def children(pid):
    """{name: pid} of the processes that a process has started."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            name, _, rest = path.read_text().partition("(")[2].rpartition(")")
            if int(rest.split()[1]) == pid:
                found[name] = int(path.parent.name)
    return found


class Image:
    def __init__(self, folder):
        directory = DataDirectory(folder / "data", storage=STORAGE)
        self.blocks = [directory.add(*item) for item in SIZES.items()]
        made = make_datanode_image([directory.path], folder / "dn.img", free_mib=4)
        self.path = made.path
        self.layout = folder / "dn.json"
        write_layout(made, self.layout)
        self.contents = {block.id: block.content() for block in self.blocks}


class Daemon:
    """One vreadd.  Its log is kept, and its exit status is checked."""

    def __init__(
        self,
        folder,
        image,
        local="",
        variant="asan",
        wrapper=(),
        extra="",
        max_fds=None,
        xen="no",
        clock=None,
        allow="dn1",
        program=None,
        looked=True,
    ):
        self.clock = clock
        self.folder = folder
        self.socket = folder / "local.sock"
        self.control = folder / "control.sock"
        self.token_files = folder / "tokens"
        self.log_path = folder / "log"
        self.record = folder / "storages"
        self.config = folder / "vread.conf"
        self.config.write_text(
            f"[vreadd]\ncontrol-socket = {self.control}\nlog-level = debug\n"
            f"token-files = {self.token_files}\n"
            f"storage-record = {self.record}\n"
            f"[xen]\nenabled = {xen}\n"
            f"[local]\nsocket = {self.socket}\nallow-datanodes = {allow}\n{local}"
            f"[datanode dn1]\nimage = {image.path}\n{self._where(image)}\n{extra}"
        )
        self.killed = False
        command = [*wrapper, program or binary(variant), "-c", self.config]
        if max_fds:
            command = ["prlimit", f"--nofile={max_fds}:{max_fds}", *command]
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                env=os.environ | (clock.environment if clock else {}),
            )
        try:
            said = [": ready", LOOKED] if looked else [": ready"]
            self.wait_until(lambda: all(text in self.log() for text in said), 240)
        except BaseException:
            self.kill()
            raise

    @staticmethod
    def _where(image):
        if hasattr(image, "data_dirs"):
            return f"data-dirs = {' '.join(image.data_dirs)}"
        return f"layout = {image.layout}"

    def wait_until(self, condition, seconds=60):
        def come():
            assert self.process.poll() is None, f"vreadd ended:\n{self.log()}"
            return condition()

        eventually(come, seconds, self.log)

    def log(self):
        return self.log_path.read_text(errors="replace")

    def last_words(self):
        """How it ended.  The reports of sanitizers are at the end of its log."""
        return f"vreadd's exit status: {self.process.poll()}; its log ends:\n{self.log()[-6000:]}"

    def look(self):
        """Lets the time of the next look into the images come, and waits until vreadd has looked.
        For a daemon of one datanode with a clock."""
        looks = self.log().count(LOOK)
        self.clock.advance(LOOK_INTERVAL)
        self.wait_until(lambda: self.log().count(LOOK) > looks)

    def front(self, **arguments):
        return LocalFront(self.socket, **arguments)

    def ask(self, line, until_end=True):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(120)
            s.connect(str(self.control))
            s.sendall(line)
            chunks = []
            while chunk := s.recv(65536):
                chunks.append(chunk)
        return b"".join(chunks)

    def status(self):
        return json.loads(self.ask(b'{"command": "status"}\n'))

    def counters(self):
        """Those of each device.  A connection that comes or goes has none yet, or no more."""
        return [d["counters"] for d in self.status()["devices"] if "counters" in d]

    def fds(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def memory_kib(self):
        """vreadd's own memory.  Pages of files, such as libraries, depend on other processes."""
        text = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return sum(int(text.split(f"{kind}:")[1].split()[0]) for kind in ("Pss_Anon", "Pss_Shmem"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def stop(self, number=signal.SIGTERM, seconds=120):
        """Ends vreadd in order.  Returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self):
        self.killed = self.process.poll() is None
        if self.killed:
            self.process.kill()
            self.process.wait()


def open_block(front, block, **arguments):
    response = front.open(block.id, block.genstamp, POOL, [STORAGE], **arguments)
    assert response.status == 0, errno.errorcode[-response.status]
    return response.handle


def open_status(front, block, token=b"", storages=(STORAGE,)):
    """Returns the status of an OPEN, and closes the handle."""
    response = front.open(block.id, block.genstamp, POOL, storages, token)
    if response.status == 0:
        front.close_handle(response.handle)
    return response.status


def second_datanode(folder, image, lists_pools=True):
    """Configuration lines of a datanode on a copy of the image, with the storage id `DS-2`.
    lists_pools: False if vreadd must not read both disks to compare them as clones."""
    text = image.layout.read_text()
    assert STORAGE in text
    layout, path = folder / "second.json", folder / "second.img"
    document = json.loads(text.replace(STORAGE, "DS-2"))
    for filesystem in document["filesystems"]:
        for directory in filesystem["data-dirs"]:
            if not lists_pools:
                directory["pools"] = []
                directory.pop("namespace-ids", None)
    layout.write_text(json.dumps(document))
    shutil.copyfile(image.path, path)
    return f"[datanode dn2]\nimage = {path}\nlayout = {layout}\n"


def cpu_seconds(daemon):
    return time.clock_gettime(~daemon.process.pid << 3 | 2)
