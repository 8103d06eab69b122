# SPDX-License-Identifier: GPL-2.0-or-later
"""A datanode's disk image for tests: made of synthetic data, damaged on purpose, read in steps.

disk = Disk(tmp_path, [directory], table="gpt")
disk.flip(disk.inside(block.path), 4096)
with disk.blockctl() as blocks:
    blocks.open(block)
"""

import contextlib
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.clock import Clock
from tools.images import file_extents, layout_of, make_datanode_image
from tools.vreadd import DataDirs

REPOSITORY = Path(__file__).parents[2]
VARIANT = os.environ.get("VREAD_TEST_VARIANT", "asan")


def built(name):
    program = REPOSITORY / "build" / VARIANT / name
    assert program.exists(), f"{program} is not built: make all VARIANT={VARIANT}"
    return program


class Disk:
    def __init__(self, folder, directories, path_in_fs="/dfs/data", **options):
        sources = [directory.path for directory in directories]
        self.path = Path(folder) / "disk.raw"
        self.image = make_datanode_image(
            sources, self.path, path_in_fs=path_in_fs, free_mib=32, **options
        )
        self.layout = self.path.with_suffix(".json")
        self.document = layout_of(self.image)
        self.write_layout()

    def write_layout(self):
        self.layout.write_text(json.dumps(self.document))

    def inside(self, path, directory=0):
        """The path in the file system of a path in a data directory."""
        return f"{self.image.data_dirs[directory].path}/{path}"

    def meta_of(self, block):
        return self.inside(str(Path(block.path).with_name(block.meta.name)))

    def debugfs(self, *commands, write=True):
        """Changes the file system as its owner would; readers are not told."""
        script = self.path.with_name("debugfs.script")
        script.write_text("".join(command + "\n" for command in commands))
        device = f"{self.path}?offset={self.image.offset}"
        done = subprocess.run(
            ["/sbin/debugfs", *(["-w"] if write else []), "-f", str(script), device],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout

    def change(self, offset, change):
        """Replaces one byte of the image by change(byte)."""
        with open(self.path, "r+b") as image:
            image.seek(offset)
            byte = image.read(1)[0]
            image.seek(offset)
            image.write(bytes([change(byte) & 0xFF]))

    def physical(self, path, offset):
        for extent in file_extents(self.image, path, offset + 1):
            if extent.logical <= offset < extent.logical + extent.length:
                return extent.physical + offset - extent.logical
        raise AssertionError(f"{path} has no byte {offset}")

    def flip(self, path, offset):
        self.change(self.physical(path, offset), lambda byte: byte ^ 1)

    @contextlib.contextmanager
    def blockctl(self, **others):
        """others: other datanodes by name, each a Disk."""
        with blockctl(dn1=self, **others) as control:
            yield control


@dataclass(frozen=True)
class ByLayout:
    """A datanode with any number of images, described by a layout file."""

    images: tuple | list
    layout: Path


def layout_found(path, images, dirs):
    """Writes a layout file.  What vreadd finds by itself is also what vread-provision finds."""
    with blockctl(dn1=DataDirs(images, dirs)) as control:
        (status,) = control.status()
    for system in status["filesystems"]:
        system.pop("state")
    document = {
        "layout-version": 2,
        "images": [{"size": image["size"]} for image in status["images"]],
        "filesystems": status["filesystems"],
    }
    Path(path).write_text(json.dumps(document))
    return ByLayout(images, path)


class BlockError(Exception):
    """The errno name that block_open(), block_read() or block_stat() returned."""

    def __init__(self, name, exposed=0):
        super().__init__(name)
        self.name = name
        self.exposed = exposed  # bytes of the destination that were written in spite of the error


def _argument(disk):
    if isinstance(disk, DataDirs):
        return ",".join(["+".join(str(image) for image in disk.images), *disk.paths])
    if isinstance(disk, ByLayout):
        return "+".join(str(image) for image in disk.images) + f":{disk.layout}"
    return f"{disk.path}:{disk.layout}"


@contextlib.contextmanager
def blockctl(**disks):
    """disks: each a Disk, a ByLayout, or a DataDirs of tools.vreadd.

    Its clock stands still: an operation that is too slow hangs, and the test fails."""
    arguments = [f"{name}={_argument(disk)}" for name, disk in disks.items()]
    with tempfile.TemporaryFile("w+") as complaints, tempfile.NamedTemporaryFile() as file:
        clock = Clock(Path(file.name))
        process = subprocess.Popen(
            [built("blockctl"), *arguments], env=os.environ | clock.environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints,
        )  # fmt: skip
        try:
            if process.stdout.readline() != b"ready\n":
                process.wait(60)
                complaints.seek(0)
                raise BlockError(complaints.read())
            yield Control(process, clock)
            process.stdin.close()
            status = process.wait(60)
            complaints.seek(0)
            lines = complaints.read().splitlines()
            wrong = [line for line in lines if not line.startswith("blockctl: warning: ")]
            assert status == 0 and not wrong, (status, lines)
        finally:
            process.kill()
            process.wait()


class Control:
    """Speaks the protocol of tests/image/blockctl.c."""

    def __init__(self, process, clock):
        self.process, self.clock = process, clock

    def ask(self, *words):
        line = " ".join(str(word) for word in words)
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().decode().split(maxsplit=1)
        assert answer, f"blockctl died, exit {self.process.wait(60)}"
        if answer[0] == "ok":
            return answer[1].strip() if len(answer) > 1 else ""
        name, *rest = answer[1].split()
        raise BlockError(name, int(rest[1]) if rest else 0)

    def policy(self, datanodes, pools, unnamed="-"):
        self.ask("policy", datanodes, pools, unnamed)

    def open(self, block, visible=0, storages=None, **different):
        """storages: by default that of the block."""
        storages = [block.storage] if storages is None else storages
        asked = {"pool": block.pool, "id": block.id, "genstamp": block.genstamp} | different
        handle, length, genstamp, flags = self.ask(
            "open", asked["pool"], asked["id"], asked["genstamp"], visible, *storages
        ).split()
        assert int(genstamp) == asked["genstamp"]
        assert int(flags) in (0, 1)
        return Handle(self, int(handle), int(length), flags == "1")

    def list(self):
        return json.loads(self.ask("list"))

    def status(self):
        return json.loads(self.ask("status"))

    def look(self):
        """Searches all data directories again, as vreadd does from time to time."""
        self.ask("look")

    def datanodes_of(self, storage):
        return self.ask("storage", storage).split()


class Handle:
    def __init__(self, control, number, length, finalized):
        self.control, self.number = control, number
        self.length, self.finalized = length, finalized

    def read(self, offset, length):
        got = int(self.control.ask("read", self.number, offset, length))
        data = self.control.process.stdout.read(got)
        assert len(data) == got
        return data

    def read_all(self, step=1 << 20):
        data = b""
        while chunk := self.read(len(data), step):
            data += chunk
        return data

    def stat(self):
        return int(self.control.ask("stat", self.number).split()[0])

    def close(self):
        self.control.ask("close", self.number)
