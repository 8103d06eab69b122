# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the root file systems of dom0 and of guests, for host.py, guest.py and kvm.py.

Both are small, because an emulated machine unpacks them at every boot.  Dom0's
also holds the kernel and the root file system of guests, because xl reads them
from memory much faster than through a shared folder.
"""

import subprocess
from pathlib import Path

from .agents import program
from .debian import BOOKWORM, Debian
from .images import kernel_image
from .kernels import Kernel
from .paths import LAB, newest
from .rootfs import Tree

DOM0_MODULES = (
    "xen-evtchn xen-gntdev xen-gntalloc xen-privcmd xenfs virtio_pci virtio_console virtio_blk "
    "virtio_net 9pnet_virtio 9p bridge loop xen-blkback xen-netback ext4 crc32c_generic"
).split()
DOMU_MODULES = (
    "xen-evtchn xen-gntdev xen-gntalloc xen-privcmd xenfs xen-blkfront xen-netfront ext4 "
    "crc32c_generic"
).split()
KVM_MODULES = "virtio_pci virtio_console virtio_blk virtio_net ext4 crc32c_generic".split()

# Soft-RoCE needs crc32, which nothing else loads.  tc makes a wire lose all or some packets.
RDMA_MODULES = "crc32_generic rdma_rxe ib_uverbs rdma_ucm sch_netem sch_prio cls_u32".split()

XENSTORE_TOOLS = [
    f"/usr/bin/xenstore-{v}" for v in "ls read write list exists rm watch chmod".split()
]
DOM0_TOOLS = [
    *XENSTORE_TOOLS,
    "/usr/bin/bash",
    "/usr/bin/flock",
    "/usr/bin/stat",
    "/usr/sbin/brctl",
    "/usr/sbin/ip",
    "/usr/sbin/losetup",
]
XEN_TOOLS = (
    "xl xenstored xenconsoled xenconsole xen-init-dom0 libxl-save-helper lsevtchn xen-diag xentop"
).split()
DOMU_TOOLS = XENSTORE_TOOLS
RDMA_TOOLS = [
    *(f"/usr/bin/{name}" for name in "rdma ib_write_bw rping ibv_devinfo".split()),
    "/usr/sbin/tc",
]
# libibverbs looks for drivers of devices by what it finds here.
RDMA_DRIVERS = "/etc/libibverbs.d"

# libpthread loads it by name when a thread is cancelled.
LIBGCC = "/lib/x86_64-linux-gnu/libgcc_s.so.1"
BUSYBOX = "/usr/bin/busybox"
DOMU_KERNEL = "/boot/vmlinux"
DOMU_ROOT = "/boot/domu.cpio"


def dom0_root(rdma: bool = False, debian: Debian = BOOKWORM) -> Path:
    """rdma: with the tools and modules of soft-RoCE."""
    tree = _base("dom0", None, debian)
    tools = debian.xen_tools
    tree.files(debian.files(tools / name for name in XEN_TOOLS))
    for name in XEN_TOOLS:
        tree.link(f"/usr/sbin/{name}", str(tools / name))
    tree.files(debian.files(DOM0_TOOLS))
    own = ("lab-bridge", "lab-cpu")
    tree.files({f"/usr/local/bin/{name}": program(name, debian) for name in own})
    for script in ("lab-guest", "lab-share"):
        tree.file(f"/usr/local/bin/{script}", LAB / "root" / script)
    for script in ("block", "vif-bridge"):
        tree.file(f"/etc/xen/scripts/{script}", LAB / "root" / script)
    tree.text("/etc/xen/xl.conf", 'autoballoon="off"\n')
    tree.directory("/var/lib/xen", "/var/lib/xenstored")
    tree.directory("/var/log/log", "/var/log/console", "/run/xen", "/run/xenstored", "/run/lock")
    tree.link("/var/log/xen", "log")
    if rdma:
        tree.files(debian.files(RDMA_TOOLS) | _rxe_driver(debian))
    _load(tree, DOM0_MODULES + (RDMA_MODULES if rdma else []))
    tree.file(DOMU_KERNEL, kernel_image(debian.kernel))
    tree.file(DOMU_ROOT, domu_root(None, debian))
    return tree.archive("dom0")


def domu_root(kernel: Kernel | None = None, debian: Debian = BOOKWORM) -> Path:
    tree = _base("guest", kernel, debian)
    tree.files(debian.files(DOMU_TOOLS))
    _load(tree, DOMU_MODULES)
    return tree.archive("domu")


def kvm_root(kernel: Kernel | None = None) -> Path:
    """Of a guest of QEMU without Xen."""
    tree = _base("guest", kernel, BOOKWORM)
    _load(tree, KVM_MODULES)
    return tree.archive("kvm")


def _base(kind: str, kernel: Kernel | None, debian: Debian) -> Tree:
    tree = Tree(kernel, debian)
    tree.merged_usr()
    tree.directory("/proc", "/sys", "/dev", "/run", "/mnt", "/lab", "/root", "/var/log", "/var/lib")
    tree.directory("/tmp", mode=0o1777)
    tree.device("/dev/console", 5, 1)
    tree.link("/var/run", "/run")
    tree.link("/var/lock", "/run/lock")
    tree.text("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n")
    tree.text("/etc/group", "root:x:0:\nnogroup:x:65534:\n")
    tree.text("/etc/hosts", "127.0.0.1 localhost\n")
    busybox = debian.file(BUSYBOX)
    tree.file("/bin/busybox", busybox)
    for applet in _applets(busybox):
        tree.link(f"/bin/{applet}", "busybox")
    tree.files({"/usr/local/bin/lab-agent": program("lab-agent", debian)})
    tree.files(debian.files([LIBGCC]))
    tree.file("/init", LAB / "root" / f"init.{kind}")
    return tree


def _load(tree: Tree, modules: list[str]) -> None:
    """Adds modules, and lists them for init, which loads them."""
    tree.modules(modules)
    tree.text("/etc/lab-modules", "".join(f"{name}\n" for name in modules))


def _rxe_driver(debian: Debian) -> dict[str, Path]:
    folder = "/usr/lib/x86_64-linux-gnu/libibverbs"
    library = newest(str(debian.file(folder)), "librxe-*.so", "ibverbs-providers")
    return debian.files([f"{folder}/{library.name}", f"{RDMA_DRIVERS}/rxe.driver"])


def _applets(busybox: Path) -> list[str]:
    done = subprocess.run([str(busybox), "--list"], capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split() if name != "busybox"]
