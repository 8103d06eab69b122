# SPDX-License-Identifier: GPL-2.0-or-later
"""The files of our Debian packages, for the root file systems of dom0 and guests.  installed.py and
tests/xen/test_from_packages.py use them.

    packages = Packages(folder_of_debs, scratch)
    XenHost("h", files=packages.dom0(), guest_files=packages.guest(users=("hdfs",)), ...)

All files of the project come from the .deb files, none from the build tree.  The rest is as on a
Debian.  Libraries come from this machine, but only those of packages named in Depends.  Guests also
get udev, which loads the module and sets up its node.  The work of maintainer scripts is done here:
a group is added, and the module is built and indexed as by DKMS.
"""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from .cache import cached, key_of
from .paths import LAB, LIBRARY, LabError, kernel_release
from .rootfs import Tree
from .roots import DOMU_MODULES

BACKEND, TOOLS, MODULE, HDFS = "vread-backend", "vread-tools", "vread-frontend-dkms", "vread-hdfs"
GUEST = (TOOLS, "libvread1", MODULE, HDFS)
# Left out, as with `dpkg --path-exclude`, because roots are in memory.
EXCLUDED = re.compile(r"/usr/(share/(doc|man|lintian)|src)/")
SHARED = re.compile(r".*\.so[.0-9]*")
UDEV = [Path("/lib/systemd/systemd-udevd"), Path("/bin/udevadm")]
UDEV_RULES = Path("/lib/udev/rules.d/80-drivers.rules")  # loads modules for new devices
FIELDS = ("Depends",)
GROUPS = {"vread": 105, "vread-publish": 106}
FIRST_USER_ID = 1000
SERVICE, SERVICE_ID = "vreadd", 107


class Packages:
    def __init__(self, folder: Path, scratch: Path) -> None:
        """folder: has the .deb files; scratch: where they are unpacked."""
        found = {path.name.split("_")[0]: path for path in sorted(folder.glob("*.deb"))}
        self._debs, self._scratch = found, scratch

    def file(self, package: str, path: str) -> Path:
        """One file of a package, on this machine."""
        return self._unpacked(package) / path.lstrip("/")

    def dom0(self, recommended: bool = False, user: bool = False) -> Tree:
        """recommended: with the libraries of packages in Recommends, too.  user: with the user of
        the service."""
        fields = ("Depends", "Recommends") if recommended else FIELDS
        tree = self._installed((BACKEND,), fields)
        if user:
            _accounts(tree, {SERVICE: SERVICE_ID}, {})
        return tree

    def guest(self, users: Iterable[str] = ()) -> Tree:
        """For each guest, with these users in the groups of vRead, as after `adduser`."""
        tree = self._installed(GUEST)
        tree.files({str(path): path for path in UDEV})
        tree.file(str(UDEV_RULES), UDEV_RULES)
        tree.file("/etc/lab-start", LAB / "root" / "udev")
        numbers = {name: FIRST_USER_ID + i for i, name in enumerate(users)}
        _accounts(tree, numbers, GROUPS)
        tree.modules(DOMU_MODULES)
        for name, ko in self._dkms_modules().items():
            tree.module(f"/lib/modules/{kernel_release()}/updates/dkms/{name}.ko", ko)
        return tree

    # ---- what dpkg does ----------------------------------------------------------

    def _installed(self, packages: Iterable[str], fields: Iterable[str] = FIELDS) -> Tree:
        """Without libraries that no package in these fields has: as on Debian, programs then
        fail."""
        tree = Tree()
        for name in packages:
            for path, source in self._contents(name).items():
                if source.is_symlink():
                    tree.link(path, str(source.readlink()))
                else:
                    tree.file(path, source)
            allowed = libraries(self._needed(name, fields))
            for library in linked(self._contents(name).values()):
                if library.name in allowed:
                    tree.file(str(library), library)
        return tree

    def _contents(self, package: str) -> dict[str, Path]:
        root = self._unpacked(package)
        found = {f"/{path.relative_to(root)}": path for path in sorted(root.rglob("*"))}
        return {
            path: source
            for path, source in found.items()
            if (source.is_symlink() or source.is_file()) and not EXCLUDED.match(path)
        }

    def _unpacked(self, package: str) -> Path:
        root = self._scratch / package
        if not root.exists():
            if package not in self._debs:
                raise LabError(f"no package {package}: run make deb")
            _run(["dpkg-deb", "--extract", self._debs[package], root])
        return root

    def _needed(self, package: str, fields: Iterable[str]) -> set[str]:
        """The packages of others in these fields of it; ours bring their own dependencies."""
        read = ["dpkg-deb", "--field", self._debs[package]]
        found = {name for field in fields for name in names(_run([*read, field]))}
        return found - self._debs.keys()

    # ---- what DKMS does ------------------------------------------------------------

    def _dkms_modules(self) -> dict[str, Path]:
        """The modules, built for the kernel of guests as their dkms.conf says."""
        (source,) = (self._unpacked(MODULE) / "usr/src").iterdir()
        files = sorted(path for path in source.rglob("*") if path.is_file())
        parts = [kernel_release().encode(), *(path.read_bytes() for path in files)]
        tar = cached("dkms", ".tar", key_of(parts), lambda tar: self._build(source, tar))
        folder = self._scratch / "modules"
        folder.mkdir(exist_ok=True)
        _run(["tar", "-C", folder, "-xf", tar])
        return {path.stem: path for path in folder.glob("*.ko")}

    def _build(self, source: Path, tar: Path) -> None:
        name, _, version = source.name.partition("-")
        build = self._scratch / "dkms" / name / version / "build"
        build.parent.mkdir(parents=True)
        _run(["cp", "-r", source, build])
        script = (
            'kernel_source_dir=/lib/modules/$1/build dkms_tree=$2; cd "$3" && . ./dkms.conf && '
            'eval "${MAKE[0]}" && ko=("${BUILT_MODULE_NAME[@]/%/.ko}") && strip -g "${ko[@]}" && '
            'tar -cf "$4" "${ko[@]}"'
        )
        arguments = [kernel_release(), self._scratch / "dkms", build, tar]
        _run(["bash", "-c", script, "dkms", *arguments])


def names(field: str) -> list[str]:
    """The packages of a field like Depends; the first of alternatives."""
    first = (entry.split("|")[0] for entry in field.split(","))
    return [match[0] for entry in first if (match := re.match(r"[^\s(:]+", entry.strip()))]


def libraries(packages: Iterable[str]) -> set[str]:
    """Names of the shared libraries in those of these packages that are installed here, and in
    their dependencies."""
    known, new = set(), {name for name in packages if _is_installed(name)}
    while new:
        known |= new
        fields = _run(["dpkg-query", "-W", "-f", "${Depends},${Pre-Depends},", *sorted(new)])
        new = {name for name in names(fields) if _is_installed(name)} - known
    listed = _run(["dpkg-query", "-L", *sorted(known)]).splitlines() if known else []
    return {Path(path).name for path in listed if SHARED.fullmatch(path)}


def linked(files: Iterable[Path]) -> set[Path]:
    """The shared libraries on this machine with which these files are linked."""
    dynamic = [path for path in files if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    if not dynamic:
        return set()
    found = subprocess.run(["ldd", *dynamic], capture_output=True, text=True, check=False)
    return {Path(name) for name in LIBRARY.findall(found.stdout)}


def _is_installed(package: str) -> bool:
    """False for virtual packages, and for packages that an alternative replaces here."""
    asked = ["dpkg-query", "-W", "-f", "${db:Status-Status}", package]
    return subprocess.run(asked, capture_output=True, text=True).stdout.startswith("installed")


def _accounts(tree: Tree, users: dict[str, int], of_all: dict[str, int]) -> None:
    """Users, each with a group of its own.  of_all: groups that have all of them."""
    people = {"root": 0, "nobody": 65534, **users}
    lines = [f"{name}:x:{number}:{number}::/tmp:/bin/sh" for name, number in people.items()]
    tree.text("/etc/passwd", "".join(f"{line}\n" for line in lines))
    groups = ["root:x:0:", "nogroup:x:65534:"]
    groups += [f"{name}:x:{number}:{','.join(users)}" for name, number in of_all.items()]
    groups += [f"{name}:x:{number}:" for name, number in users.items()]
    tree.text("/etc/group", "".join(f"{line}\n" for line in groups))


def _run(command: list) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise LabError(f"{' '.join(map(str, command[:4]))}: {done.stderr.strip()}")
    return done.stdout
