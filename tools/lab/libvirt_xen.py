# SPDX-License-Identifier: GPL-2.0-or-later
"""libvirt's daemon with its driver for Xen, in dom0 of an emulated host.  tests/xen/test_libvirt.py
uses it.

The daemon and virsh are this machine's.  The package of the driver is unpacked in build/lab and not
installed.  The daemon has this driver alone, and no other service.

libvirt knows processors by models, and the emulated one fits none: a small model is added.
"""

from pathlib import Path

from . import apt
from .host import XenHost
from .rootfs import Tree

PACKAGE = "libvirt-daemon-driver-xen"
DRIVER = "/usr/lib/x86_64-linux-gnu/libvirt/connection-driver/libvirt_driver_libxl.so"
PROGRAMS = ("/usr/sbin/libvirtd", "/usr/bin/virsh")
MODELS = Path("/usr/share/libvirt/cpu_map")
FIRST_MODEL = "<include filename='x86_486.xml'/>"
OWN_MODEL = """<cpus>
  <model name='emulated'><decode host='on' guest='on'/><feature name='fpu'/></model>
</cpus>
"""
SETTINGS = 'unix_sock_group = "root"\nauth_unix_rw = "none"\nauth_unix_ro = "none"\n'
VIRSH = "virsh -c xen:///system"
# Takes an xl.cfg, as create_guest() writes it.  Of two lines with one key, xl takes the last, and
# libvirt the first.
CREATE = "libvirt-create"
CREATE_TEXT = f"""#!/bin/sh -e
awk -F= '!($1 in line) {{ key[n++] = $1 }} {{ line[$1] = $0 }}
	END {{ for (i = 0; i < n; i++) print line[key[i]] }}' "$1" >/run/domain.cfg
{VIRSH} domxml-from-native xen-xl /run/domain.cfg >/run/domain.xml
exec {VIRSH} create /run/domain.xml
"""


def install(tree: Tree) -> None:
    """Adds libvirt to the files of a dom0."""
    driver = apt.unpacked(PACKAGE) / DRIVER.lstrip("/")
    tree.files({path: Path(path) for path in PROGRAMS} | {DRIVER: driver})
    tree.files({str(path): path for path in MODELS.glob("*.xml")})
    index = (MODELS / "index.xml").read_text()
    own = f"{FIRST_MODEL}<include filename='x86_emulated.xml'/>"
    tree.text(str(MODELS / "index.xml"), index.replace(FIRST_MODEL, own))
    tree.text(str(MODELS / "x86_emulated.xml"), OWN_MODEL)
    tree.text("/etc/libvirt/libvirtd.conf", SETTINGS)
    tree.text("/etc/libvirt/libxl.conf", "autoballoon = 0\n")
    tree.text(f"/usr/local/bin/{CREATE}", CREATE_TEXT, mode=0o755)
    tree.directory("/var/lib/libvirt", "/var/log/libvirt/libxl", "/var/cache/libvirt")


def start(host: XenHost) -> None:
    """Returns when the daemon has made its socket; it makes the socket when it takes commands."""
    host.popen("exec libvirtd")
    host.run("until [ -S /run/libvirt/libvirt-sock ]; do usleep 200000; done", 120).check()
    host.run(f"{VIRSH} version").check()
