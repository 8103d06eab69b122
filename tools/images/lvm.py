# SPDX-License-Identifier: GPL-2.0-or-later
"""Volume groups of LVM2 in image files, made and changed by LVM's own commands, for tests.

    with VolumeGroup("vg", [Physical("a.raw"), Physical("b.raw", offset, length)]) as group:
        group.run("lvcreate", "-n", "data", "-l", "100", "vg")
        group.write("data", path)       # the bytes of a file become the volume's

The commands write metadata only: nothing is activated, and the kernel needs no device-mapper.
write() puts bytes where `lvs` says that the volume's extents are.  While a group is open, its
physical volumes are loop devices, which needs root.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from tools.images.datanode import MIB, ImageError, _run

EXTENT = MIB
# Keeps lvcreate from using the volume's device, which does not exist.
INACTIVE = ("--activate", "n", "--zero", "n", "--wipesignatures", "n", "--yes")


@dataclass(frozen=True)
class Physical:
    """Where a physical volume lies: a file, or a part of it."""

    path: Path
    offset: int = 0
    length: int | None = None


@dataclass(frozen=True)
class Piece:
    """Bytes of a logical volume that lie in one place."""

    start: int  # in the volume
    length: int
    physical: Physical
    offset: int  # in its file


class VolumeGroup:
    """make: make the group, else it is there.  vgcreate, pvcreate: options of these commands."""

    def __init__(self, name, physical, make=True, vgcreate=(), pvcreate=()):
        self.name = name
        self.physical = list(physical)
        self._make = make
        self._vgcreate, self._pvcreate = vgcreate, pvcreate
        self.devices = []

    def __enter__(self):
        if os.geteuid() != 0:
            raise ImageError("LVM on image files needs root")
        try:
            self.devices = [_attach(physical) for physical in self.physical]
            if self._make:
                self.run("pvcreate", *self._pvcreate, *self.devices)
                extent = ("--physicalextentsize", f"{EXTENT}b")
                self.run("vgcreate", *extent, *self._vgcreate, self.name, *self.devices)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        while self.devices:
            _run(["losetup", "--detach", self.devices.pop()])

    def run(self, command, *arguments):
        """Runs one of LVM's commands, which sees only these physical volumes."""
        accepted = ",".join(f'"a|^{device}$|"' for device in self.devices)
        config = (
            "global { activation=0 } backup { backup=0 archive=0 } "
            "activation { udev_sync=0 udev_rules=0 monitoring=0 } "
            "devices { use_devicesfile=0 obtain_device_list_from_udev=0 "
            f'global_filter=[{accepted},"r|.*|"] }}'
        )
        words = [str(argument) for argument in arguments]
        return _run(["lvm", command, "--config", config, *words])

    def create(self, name, extents, *options):
        self.run("lvcreate", *INACTIVE, "-n", name, "-l", extents, *options, self.name)

    def extend(self, name, extents, *options):
        """Makes the volume longer by this number of extents."""
        self.run("lvextend", "-l", f"+{extents}", *options, f"{self.name}/{name}")

    def pieces(self, name):
        """Where the bytes of a volume are, in their order, as `lvs` reports it."""
        starts = self._report("pvs", "pv_name,pe_start", "--units", "b", "--nosuffix")
        start_of = {row["pv_name"]: int(row["pe_start"]) for row in starts}
        fields = "seg_start_pe,seg_size_pe,stripe_size,stripes,seg_pe_ranges"
        rows = self._report(
            "lvs", fields, "--segments", "--units", "b", "--nosuffix", f"{self.name}/{name}"
        )
        pieces = []
        for row in sorted(rows, key=lambda row: int(row["seg_start_pe"])):
            stripes = []
            for extent_range in row["seg_pe_ranges"].split():
                device, extents = extent_range.rsplit(":", 1)
                physical = self.physical[self.devices.index(device)]
                first = int(extents.split("-")[0])
                stripes.append((physical, physical.offset + start_of[device] + first * EXTENT))
            start, length = int(row["seg_start_pe"]) * EXTENT, int(row["seg_size_pe"]) * EXTENT
            unit = int(row["stripe_size"]) if len(stripes) > 1 else length
            for n in range(length // unit):
                physical, offset = stripes[n % len(stripes)]
                at = offset + n // len(stripes) * unit
                pieces.append(Piece(start + n * unit, unit, physical, at))
        return pieces

    def size(self, name):
        return sum(piece.length for piece in self.pieces(name))

    def write(self, name, source):
        """Copies a file into the volume, which must be all zeros: zeros are not written."""
        with open(source, "rb") as file:
            for piece in self.pieces(name):
                file.seek(piece.start)
                data = file.read(piece.length)
                if data.count(0) == len(data):
                    continue
                with open(piece.physical.path, "r+b") as disk:
                    disk.seek(piece.offset)
                    disk.write(data)

    def segments(self, name):
        """The volume's segments as in a layout; images have the order of files in `physical`."""
        rows = self._report("lvs", "seg_start_pe,seg_size_pe,stripes", "--segments",
                            f"{self.name}/{name}")  # fmt: skip
        images = list(dict.fromkeys(physical.path for physical in self.physical))
        pieces = self.pieces(name)
        segments = []
        for row in sorted(rows, key=lambda row: int(row["seg_start_pe"])):
            start, stripes = int(row["seg_start_pe"]) * EXTENT, int(row["stripes"])
            first = next(n for n, piece in enumerate(pieces) if piece.start == start)
            segment = {"length": int(row["seg_size_pe"]) * EXTENT}
            if stripes > 1:
                segment["stripe-size"] = pieces[first].length
            segment["stripes"] = [
                {"image": images.index(piece.physical.path), "offset": piece.offset}
                for piece in pieces[first : first + stripes]
            ]
            segments.append(segment)
        return segments

    def _report(self, command, fields, *arguments):
        told = self.run(command, "--reportformat", "json", "-o", fields, *arguments)
        (report,) = json.loads(told)["report"]
        (rows,) = report.values()
        return rows


def _attach(physical):
    command = ["losetup", "--find", "--show", "--offset", str(physical.offset)]
    if physical.length is not None:
        command += ["--sizelimit", str(physical.length)]
    return _run([*command, str(physical.path)]).strip()


def make_disk(path, mib):
    """An empty disk: a sparse file of that size."""
    with open(path, "wb") as disk:
        disk.truncate(mib * MIB)
    return Path(path)
