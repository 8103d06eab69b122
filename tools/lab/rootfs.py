# SPDX-License-Identifier: GPL-2.0-or-later
"""Trees of files for an initramfs, made of files of a release of Debian.

A Tree maps paths to entries.  Programs bring their shared libraries,
kernel modules the modules they depend on.  /bin, /sbin, /lib and /lib64 are
links into /usr, as in Debian, so a file has the same path in all archives: the
kernel unpacks several archives over each other.
"""

import lzma
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from .cache import cached, key_of
from .debian import BOOKWORM, Debian
from .kernels import Kernel
from .output import output
from .paths import LabError

DIRECTORY, REGULAR, SYMLINK, DEVICE = 0o040000, 0o100000, 0o120000, 0o020000
MERGED = ("bin", "sbin", "lib", "lib64")


@dataclass(frozen=True)
class Entry:
    mode: int
    source: Path | None = None  # contents, if in a file
    data: bytes = b""  # contents otherwise, or a link's target
    device: tuple[int, int] = (0, 0)

    def contents(self) -> bytes:
        return self.source.read_bytes() if self.source else self.data


class Tree:
    def __init__(self, kernel: Kernel | None = None, debian: Debian = BOOKWORM) -> None:
        """kernel: the kernel of the tree's modules; None: the release's own.  debian: has the
        libraries of programs."""
        self._kernel, self._debian = kernel or debian.kernel, debian
        self._entries: dict[str, Entry] = {}
        self._modules: dict[str, Path] = {}
        self._indexed = False

    def directory(self, *paths: str, mode: int = 0o755) -> None:
        for path in paths:
            self._add(path, Entry(DIRECTORY | mode))

    def text(self, path: str, text: str, mode: int = 0o644) -> None:
        self._add(path, Entry(REGULAR | mode, data=text.encode()))

    def link(self, path: str, target: str) -> None:
        self._add(path, Entry(SYMLINK | 0o777, data=target.encode()))

    def device(self, path: str, major: int, minor: int) -> None:
        self._add(path, Entry(DEVICE | 0o600, device=(major, minor)))

    def file(self, path: str, source: Path) -> None:
        if not source.is_file():
            raise LabError(f"{source} is not a file, wanted as {path} in an emulated machine")
        self._add(path, Entry(REGULAR | (source.stat().st_mode & 0o777), source=source.resolve()))

    def files(self, sources: dict[str, Path]) -> None:
        """{path: source}, with the libraries of those that are programs."""
        for path, source in sources.items():
            self.file(path, Path(source))
        self._add_libraries(sources.values())

    def modules(self, names: Iterable[str]) -> None:
        self._indexed = True
        for source in module_files(names, self._kernel):
            self.module(f"/lib/modules/{_inside(source)}", source)

    def module(self, path: str, source: Path) -> None:
        """Adds one module for the tree's kernel, from any folder."""
        self._indexed = True
        self._modules[path] = source
        self.file(path, source)

    def merged_usr(self) -> None:
        for name in MERGED:
            self.directory(f"/usr/{name}")
            self._entries[f"/{name}"] = Entry(SYMLINK | 0o777, data=f"usr/{name}".encode())

    def archive(self, stem: str) -> Path:
        """The tree as a cpio archive, in the cache."""
        return cached(stem, ".cpio", self._key(), self.write)

    def write(self, path: Path) -> None:
        self._add_module_index()
        with path.open("wb") as out:
            for index, (name, entry) in enumerate(self._with_parents(), start=1):
                _write_entry(out, index, name, entry)
            _write_entry(out, 0, "TRAILER!!!", Entry(0))

    def _key(self) -> str:
        parts = [self._kernel.release.encode()] if self._indexed else []
        for name, entry in sorted(self._entries.items()):
            parts += [f"{name} {entry.mode:o} {entry.device}".encode(), entry.contents()]
        return key_of(parts)

    def _add(self, path: str, entry: Entry) -> None:
        self._entries[_place(path)] = entry

    def _add_libraries(self, programs: Iterable[Path]) -> None:
        dynamic = [p for p in programs if Path(p).read_bytes()[:4] == b"\x7fELF"]
        dynamic = [p for p in dynamic if Path(p).suffix != ".ko"]
        if not dynamic:
            return
        for path, source in self._debian.libraries(dynamic).items():
            self.file(path, source)

    def _with_parents(self) -> list[tuple[str, Entry]]:
        whole = dict(self._entries)
        for name in self._entries:
            for parent in PurePosixPath(name).parents:
                whole.setdefault(str(parent), Entry(DIRECTORY | 0o755))
        whole.pop("/", None)
        return sorted((name.lstrip("/"), entry) for name, entry in whole.items())

    def _add_module_index(self) -> None:
        if not self._indexed:
            return
        with tempfile.TemporaryDirectory() as scratch:
            for path, source in self._modules.items():
                link = Path(scratch, "lib/modules", _inside(path))
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(source)
            release = self._kernel.release
            folder = Path(scratch, "lib/modules", release)
            folder.mkdir(parents=True, exist_ok=True)
            for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
                (folder / name).write_bytes((self._kernel.modules / name).read_bytes())
            output(["depmod", "-b", scratch, release])
            for index in folder.glob("modules.*"):
                entry = Entry(REGULAR | 0o644, data=index.read_bytes())
                self._add(f"/lib/modules/{release}/{index.name}", entry)


def tree_of(files: dict[str, Path] | Tree, debian: Debian = BOOKWORM) -> Tree:
    """Makes a tree of {path: source}, as Tree.files() takes it; returns a Tree as it is."""
    if isinstance(files, Tree):
        return files
    tree = Tree(debian=debian)
    tree.files(files)
    return tree


def module_files(names: Iterable[str], kernel: Kernel | None = None) -> list[Path]:
    """Files of these modules and of those they depend on, in the order of loading."""
    kernel = kernel or BOOKWORM.kernel
    command = ["modprobe", "-d", str(kernel.root), "-S", kernel.release, "-a", "--show-depends"]
    steps = (line.split() for line in output([*command, *names]).splitlines())
    return [_plain(Path(step[1]).resolve()) for step in steps if step[0] == "insmod"]


def _plain(module: Path) -> Path:
    """The module, unpacked if it is compressed: busybox's tools cannot read compressed ones."""
    if module.suffix != ".xz":
        return module
    plain = module.with_suffix("")
    if not plain.exists():
        partial = plain.with_suffix(f".{os.getpid()}")
        partial.write_bytes(lzma.decompress(module.read_bytes()))
        partial.rename(plain)
    return plain


def _inside(module: Path | str) -> str:
    return str(module).partition("/lib/modules/")[2]


def _place(path: str) -> str:
    parts = PurePosixPath(path).parts
    if parts[:1] != ("/",) or ".." in parts:
        raise LabError(f"{path!r}: paths in an emulated machine are absolute and plain")
    if len(parts) > 2 and parts[1] in MERGED:
        return str(PurePosixPath("/usr", *parts[1:]))
    return str(PurePosixPath(path))


def _write_entry(out, index: int, name: str, entry: Entry) -> None:
    """One member in the "new ASCII" cpio format; times and owners are 0."""
    data = entry.contents()
    encoded = name.encode() + b"\0"
    links = 2 if entry.mode & 0o170000 == DIRECTORY else 1
    major, minor = entry.device
    fields = [index, entry.mode, 0, 0, links, 0, len(data), 0, 0, major, minor, len(encoded), 0]
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    for part in (header + encoded, data):
        out.write(part + b"\0" * (-len(part) % 4))
