# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that `make all module` builds, by their paths in dom0 and in guests.

For another release of Debian than this machine's, make() builds them in that release's system.
"""

import subprocess
from pathlib import Path

from .debian import BOOKWORM, LIBRARIES, Debian
from .kernels import Kernel
from .paths import REPOSITORY, LabError

# The kernel modules of a guest: the core, and what brings devices of Xen or of KVM.
CORE, XEN, KVM = "vread-core", "xen-vreadfront", "vread-ivshmem"
TRANSPORT = f"test -e /sys/hypervisor/type && echo {XEN} || echo {KVM}"
PLUGIN = "/usr/share/java/vread-hdfs.jar"
JNI = "libvread_jni.so"
PROGRAMS = [
    *"vreadd vread-parser vread-opener vread-key-agent vread-ivshmem vread xl-vread".split(),
    *("libvread.so.1", JNI),
]


def make(debian: Debian) -> None:
    """Builds the module and what is of C, but not vread-provision, as far as they are not up to
    date: dom0_files("release", debian), guest_files("release", debian) and the JNI library.  `make
    all` must have run before."""
    programs = [f"build/release/{name}" for name in PROGRAMS]
    debian.make(*programs, "module", f"KVER={debian.kernel.release}")


def dom0_files(variant: str, debian: Debian = BOOKWORM) -> dict[str, Path]:
    """xl-vread is the release build in every variant: the lab asks it for the status all the time,
    and with sanitizers each answer takes five times as long.  tests/cli runs it with them."""
    build = debian.build / variant
    return {
        "/usr/sbin/vreadd": build / "vreadd",
        "/usr/libexec/vread/vread-key-agent": build / "vread-key-agent",
        "/usr/libexec/vread/vread-parser": build / "vread-parser",
        "/usr/bin/vread": build / "vread",
        "/usr/sbin/xl-vread": debian.build / "release" / "xl-vread",
    }


def guest_files(variant: str, debian: Debian = BOOKWORM) -> dict[str, Path]:
    build = debian.build / variant
    return {
        "/usr/bin/vread": build / "vread",
        f"{LIBRARIES}/libvread.so.1": build / "libvread.so.1",
        **_modules(debian.build / "module"),
    }


def load(parameters: str = "") -> str:
    """The command that loads the modules of a guest, of Xen or of KVM."""
    core = f"test -d /sys/module/vread_core || insmod /lib/modules/{CORE}.ko"
    return f"{{ {core}; }} && insmod /lib/modules/$({TRANSPORT}).ko {parameters}"


def unload() -> str:
    """The command that unloads them.  If it is refused, nothing is unloaded."""
    return f"rmmod $({TRANSPORT} | tr - _) && rmmod vread_core"


def _modules(folder: Path) -> dict[str, Path]:
    return {f"/lib/modules/{name}.ko": folder / f"{name}.ko" for name in (CORE, XEN, KVM)}


def modules_for(kernel: Kernel) -> dict[str, Path]:
    """The modules of a guest with another kernel than the installed one.  If they are not up to
    date, the script of all modules builds them, with the same warnings and sparse."""
    folder = REPOSITORY / "build" / "modules" / kernel.release
    script = REPOSITORY / "linux-frontend" / "build.sh"
    done = subprocess.run(
        [script, kernel.release, kernel.headers, folder],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise LabError(f"modules for {kernel.release}:\n{done.stderr}")
    return _modules(folder)


def plugin_files(debian: Debian = BOOKWORM) -> dict[str, Path]:
    """The jar of the Hadoop plug-ins, with the native library in it.  The library of another
    release is where Java looks for it before it looks into the jar."""
    found = {PLUGIN: REPOSITORY / "build" / "java" / "vread-hdfs.jar"}
    if debian != BOOKWORM:
        found[f"{LIBRARIES}/{JNI}"] = debian.build / "release" / JNI
    return found


def built(files: dict[str, Path]) -> dict[str, Path]:
    """Those of the files that have been built."""
    return {path: source for path, source in files.items() if source.is_file()}
