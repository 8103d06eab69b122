# SPDX-License-Identifier: GPL-2.0-or-later
"""Disk images in every format, made by QEMU's tools, and imagectl, which reads them as vreadd does.

spec = FORMATS["qcow2-backed-by-raw"](tmp_path, raw)
with ImageControl(spec) as image:
    image.read(0, 512)
"""

import contextlib
import subprocess

from tests.support.disk import built
from tests.support.vhd import SECTOR, child

CONVERT = ("qemu-img", "convert", "-t", "unsafe")  # tests need not wait for a disk


def run(*command, **options):
    return subprocess.run(
        [str(word) for word in command], check=True, capture_output=True, text=True, **options
    ).stdout


def qemu_io(path, kind, *commands):
    """Runs commands of qemu-io(1) on an image that nobody uses."""
    words = [word for command in commands for word in ("-c", command)]
    out = run("qemu-io", "-t", "unsafe", "-f", kind, *words, path)
    assert "failed" not in out and "rror" not in out, out


def as_raw(path, kind):
    """A raw file with the disk's content, as QEMU reads it."""
    raw = path.with_name(path.name + ".expected")
    run(*CONVERT, "-f", kind, "-O", "raw", path, raw)
    return raw


def converted(kind, name, *options):
    """Returns a function that converts a raw image to that format."""

    def make(folder, raw):
        path = folder / f"disk.{name}"
        run(*CONVERT, "-f", "raw", "-O", kind, *options, raw, path)
        return path

    return make


def overlay(path, base, base_kind, *options):
    run("qemu-img", "create", "-q", "-f", "qcow2", *options, "-F", base_kind, "-b", base, path)
    return path


# Writes over data, writes beside data, and discards.
CHANGES = [
    "write -P 0x11 0 64k",
    "write -P 0x22 1000k 3000k",
    "write -P 0x33 5M 512",
    "write -z 6M 300k",
    "write -P 0x44 8M 2M",
    "discard 8512k 640k",
    "write -P 0x55 9M 4k",
]


def changed(make, kind):
    """As make(), but the image is then changed."""

    def make_changed(folder, raw):
        path = make(folder, raw)
        qemu_io(path, kind, *CHANGES)
        return path

    return make_changed


def backed(make_base, base_kind, *options):
    """An overlay with changes over the image of make_base(), in the same folder."""

    def make(folder, raw):
        base = make_base(folder, raw)
        path = overlay(folder / "overlay.qcow2", base.name, base_kind, *options)
        qemu_io(path, "qcow2", *CHANGES)
        return path

    return make


def differences(folder, raw):
    """An overlay that holds the differences between the raw disk and an empty base."""
    base = folder / "base.raw"
    run("qemu-img", "create", "-q", "-f", "raw", base, raw.stat().st_size)
    path = folder / "overlay.qcow2"
    run(*CONVERT, "-f", "raw", "-O", "qcow2", "-B", base.name, "-F", "raw", raw, path)
    return path


def chain(folder, raw):
    """Five files, each with its own data; the lowest file is the shortest."""
    base = plain(folder, raw)
    run("qemu-img", "resize", "-q", "-f", "raw", "--shrink", base, "7340544")
    below, kind = base, "raw"
    for i in range(4):
        path = overlay(folder / f"layer{i}.qcow2", below, kind, "-o", f"cluster_size={4 << i}k")
        run("qemu-img", "resize", "-q", path, "24M")
        qemu_io(path, "qcow2", f"write -P {i + 1} {i * 1500}k 700k", f"write -z {i}M 100k")
        below, kind = path, "qcow2"
    return below


def with_snapshots(folder, raw):
    path = converted("qcow2", "qcow2")(folder, raw)
    run("qemu-img", "snapshot", "-c", "one", path)
    qemu_io(path, "qcow2", *CHANGES)
    run("qemu-img", "snapshot", "-c", "two", path)
    qemu_io(path, "qcow2", "write -P 0x66 0 5M")
    return path


def grown(folder, raw):
    """An image whose L1 table had to move when the image grew."""
    path = converted("qcow2", "qcow2", "-o", "cluster_size=512")(folder, raw)
    run("qemu-img", "resize", "-q", path, "64M")
    qemu_io(path, "qcow2", "write -P 0x77 40M 100k")
    return path


def plain(folder, raw):
    path = folder / "base.raw"
    run("cp", "--sparse=always", raw, path)
    return path


def qcow2(*options):
    return converted("qcow2", "qcow2", *options)


def vpc(*options):
    return converted("vpc", "vhd", "-o", ",".join(options))


def vhd_differences(folder, raw):
    """A differencing VHD with all of the disk over an empty parent."""
    empty = folder / "empty.raw"
    run("qemu-img", "create", "-q", "-f", "raw", empty, raw.stat().st_size)
    parent = vpc("force_size=on")(folder, empty)
    content = raw.read_bytes()
    places = range(0, len(content), SECTOR)
    sectors = {at // SECTOR: content[at : at + SECTOR] for at in places}
    written = {number: data for number, data in sectors.items() if any(data)}
    return child(folder / "child.vhd", parent, written)


# Name: QEMU's name, the name in vread.conf(5), and the function that makes an image.
FORMATS = {
    "raw": ("raw", "raw", plain),
    "qcow2": ("qcow2", "qcow2", qcow2()),
    "qcow2-changed": ("qcow2", "qcow2", changed(qcow2(), "qcow2")),
    "qcow2-v2": ("qcow2", "qcow2", changed(qcow2("-o", "compat=0.10"), "qcow2")),
    "qcow2-512": ("qcow2", "qcow2", changed(qcow2("-o", "cluster_size=512"), "qcow2")),
    "qcow2-2m": ("qcow2", "qcow2", changed(qcow2("-o", "cluster_size=2M"), "qcow2")),
    "qcow2-lazy": ("qcow2", "qcow2", changed(qcow2("-o", "lazy_refcounts=on"), "qcow2")),
    "qcow2-preallocated": ("qcow2", "qcow2", qcow2("-o", "preallocation=metadata")),
    "qcow2-compressed": ("qcow2", "qcow2", changed(qcow2("-c"), "qcow2")),
    "qcow2-compressed-2m": ("qcow2", "qcow2", qcow2("-c", "-o", "cluster_size=2M")),
    "qcow2-zstd": ("qcow2", "qcow2", changed(qcow2("-c", "-o", "compression_type=zstd"), "qcow2")),
    "qcow2-snapshots": ("qcow2", "qcow2", with_snapshots),
    "qcow2-grown": ("qcow2", "qcow2", grown),
    "qcow2-on-raw": ("qcow2", "qcow2", backed(plain, "raw")),
    "qcow2-on-qcow2": ("qcow2", "qcow2", backed(qcow2(), "qcow2")),
    "qcow2-on-compressed": ("qcow2", "qcow2", backed(qcow2("-c"), "qcow2")),
    "qcow2-chain": ("qcow2", "qcow2", chain),
    "vhd-fixed": ("vpc", "vhd", vpc("subformat=fixed")),
    "vhd-fixed-exact": ("vpc", "vhd", vpc("subformat=fixed", "force_size=on")),
    "vhd-dynamic": ("vpc", "vhd", vpc("subformat=dynamic")),
    "vhd-dynamic-changed": ("vpc", "vhd", changed(vpc("force_size=on"), "vpc")),
}  # fmt: skip


# Formats whose images hold exactly the content of the raw disk.
COPIES = {
    "raw": ("raw", plain),
    "qcow2": ("qcow2", qcow2()),
    "qcow2-512": ("qcow2", qcow2("-o", "cluster_size=512")),
    "qcow2-compressed": ("qcow2", qcow2("-c")),
    "qcow2-zstd": ("qcow2", qcow2("-c", "-o", "compression_type=zstd")),
    "qcow2-differences": ("qcow2", differences),
    "vhd-fixed": ("vhd", vpc("subformat=fixed", "force_size=on")),
    "vhd-dynamic": ("vhd", vpc("subformat=dynamic", "force_size=on")),
    "vhd-differences": ("vhd", vhd_differences),
}


class ImageError(Exception):
    def __init__(self, name, text=""):
        super().__init__(f"{name}: {text}")
        self.name, self.text = name, text


class ImageControl:
    """Speaks the protocol of tests/image/imagectl.c."""

    def __init__(self, spec, direct=False, folder=None, environment=None):
        options = ["--direct"] if direct else []
        if folder:
            options += ["--backing-folder", str(folder)]
        self.process = subprocess.Popen(
            [built("imagectl"), *options, str(spec)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
        )  # fmt: skip
        try:
            size, self.format, layers = self._answer()
        except BaseException:
            self.end()
            raise
        self.size, self.layers = int(size), int(layers)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        status, said = self.end()
        if kind is None:
            assert status == 0 and "ERROR: " not in said, (status, said)

    def end(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        said = self.process.stderr.read().decode(errors="replace")
        self.process.stdout.close()
        return self.process.wait(60), said

    def _answer(self):
        word, *rest = self.process.stdout.readline().decode().split(maxsplit=1) or ["nothing"]
        text = rest[0].strip() if rest else ""
        if word == "error":
            name, _, text = text.partition(" ")
            raise ImageError(name, text)
        assert word == "ok", f"imagectl died: {self.end()}"
        return text.split()

    def ask(self, *words):
        self.process.stdin.write(" ".join(str(word) for word in words).encode() + b"\n")
        self.process.stdin.flush()
        return self._answer()

    def read(self, offset, length):
        self.ask("read", offset, length)
        data = self.process.stdout.read(length)
        assert len(data) == length
        return data

    def map(self, offset, length):
        path, offset, length = self.ask("map", offset, length)
        return path, int(offset), int(length)

    def copy(self, path):
        self.ask("copy", path)

    def same(self):
        return self.ask("same") == ["1"]

    def changes(self):
        return int(self.ask("changes")[0])
