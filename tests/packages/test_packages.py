# SPDX-License-Identifier: GPL-2.0-or-later
"""The Debian packages, from `make deb` to purge, in a fresh Debian with a running systemd.  The
packages of each release of Debian are made, and installed, on that release.

For each release the tests run in order: contents of the packages, installation, vreadd serving a
block under all restrictions of its service file, an upgrade, and the purge.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.debian_packages import RELEASES, TRIXIE, make_deb
from tests.support.debian_root import DebianRoot
from tests.support.installed_packages import (
    BLOCK_ID,
    CONFIG,
    KERNELS,
    PACKAGES,
    SUFFIXES,
    by_name,
    field,
    main_pid,
    module_states,
    put_image,
    read_block,
    released,
    told,
)
from tests.support.owner import needs_root
from tests.support.waiting import eventually
from tools.vreadd import REPOSITORY

pytestmark = [pytest.mark.thorough, needs_root, pytest.mark.timeout(3600)]

# Packages that are installed first: the compiler of a program that uses the library, and what a
# minimal Debian 13 lacks.  Autoremove would keep these two if they came with ours, because apt
# depends on "base-passwd | adduser" and perl recommends netbase.
THERE = ("gcc", "libc6-dev", "adduser", "netbase")
NEWER, OLDER = "0.999.0", "0.0.1"
# The source of a package in which all is one module.
ONE_MODULE = {
    "Kbuild": "obj-m := xen-vreadfront.o\n",
    "xen-vreadfront.c": '#include <linux/module.h>\nMODULE_LICENSE("GPL");\n',
    "dkms.conf": f"""PACKAGE_NAME="vread"
PACKAGE_VERSION="{OLDER}"
BUILT_MODULE_NAME[0]="xen-vreadfront"
DEST_MODULE_LOCATION[0]="/updates/dkms"
MAKE[0]="make -C ${{kernel_source_dir}} M=${{dkms_tree}}/vread/{OLDER}/build modules"
CLEAN="true"
AUTOINSTALL="yes"
""",
}
# Folders that change by themselves, or hold dpkg's own records of packages.
VOLATILE = (
    "/dev",
    "/proc",
    "/run",
    "/srv",
    "/sys",
    "/tmp",
    "/var/cache",
    "/var/lib/apt",
    "/var/lib/dpkg",
    "/var/lib/systemd",
    "/var/log",
)
# Backups of the user databases; depmod's index, written when a module is added or removed; DKMS'
# own key.
OTHERS = re.compile(
    r"/etc/(group|gshadow|passwd|shadow|subuid|subgid)-"
    r"|/.*/modules\.[a-z.]+"
    r"|/var/lib/dkms/mok\.(key|pub)"
)


@pytest.fixture(scope="module", params=RELEASES)
def suite(request):
    return request.param


@pytest.fixture(scope="module")
def packages(suite):
    """{name: path} of the packages.  `make deb` fails if lintian reports anything."""
    return by_name(make_deb(suite, REPOSITORY))


@pytest.fixture(scope="module")
def root(suite, packages, tmp_path_factory):
    with DebianRoot(suite, tmp_path_factory.mktemp("debian") / "root") as root:
        root.run("apt-get", "update")
        root.run("apt-get", "install", "-y", "--no-install-recommends", *THERE)
        root.files_before = root.files(*VOLATILE)
        yield root


@pytest.fixture(scope="module")
def image(root, tmp_path_factory):
    return put_image(root, tmp_path_factory.mktemp("image"))


def contents(package):
    listing = subprocess.run(
        ["dpkg-deb", "--contents", package], check=True, stdout=subprocess.PIPE, text=True
    )
    return {line.split()[5].removeprefix("./") for line in listing.stdout.splitlines()}


def install(root, packages):
    """Installs the packages as an operator does who keeps a changed configuration file."""
    folder = root.file("/srv/packages")
    folder.mkdir(exist_ok=True)
    names = []
    for path in packages:
        subprocess.run(["cp", path, folder], check=True)
        names.append(f"/srv/packages/{path.name}")
    keep = ["-o", "Dpkg::Options::=--force-confold"]
    return root.run("apt-get", "install", "-y", "--no-install-recommends", *keep, *names)


def another_pid(root, pid):
    """Waits until another vreadd runs than that one."""
    eventually(lambda: main_pid(root) not in (pid, "0"), what=lambda: told(root))


def processes(root):
    """{pid: name} of the service's processes."""
    group = root.run("systemctl", "show", "-P", "ControlGroup", "vreadd").strip()
    if not group:
        return {}
    numbers = root.run("cat", f"/sys/fs/cgroup{group}/cgroup.procs").split()
    return {number: root.run("cat", f"/proc/{number}/comm").strip() for number in numbers}


def placed(suite, path):
    """Where the release has the file: in Debian 13 no package has files in /lib."""
    return f"usr/{path}" if suite == TRIXIE and path.startswith("lib/") else path


def test_what_is_in_them(suite, packages):
    assert sorted(packages) == PACKAGES
    files = {name: contents(path) for name, path in packages.items()}
    expected = {
        "vread-backend": {
            "etc/vread/vread.conf",
            "lib/systemd/system/vread-ivshmem.service",
            "lib/systemd/system/vread-metrics.service",
            "lib/systemd/system/vread-metrics.timer",
            "lib/systemd/system/vreadd.service",
            "lib/udev/rules.d/60-vread-backend.rules",
            "usr/libexec/vread/vread-key-agent",
            "usr/libexec/vread/vread-opener",
            "usr/libexec/vread/vread-parser",
            "usr/sbin/vread-ivshmem",
            "usr/sbin/vread-peer-certificate",
            "usr/sbin/vread-provision",
            "usr/sbin/vreadd",
            "usr/sbin/xl-vread",
            "usr/share/bash-completion/completions/xl-vread",
            "usr/share/man/man8/xl-vread.8.gz",
            "usr/share/man/man5/vread.conf.5.gz",
            "usr/share/man/man8/vreadd.8.gz",
            "usr/share/doc/vread-backend/install.md.gz",
            "usr/share/vread/grafana/vread.json",
        },
        "vread-bench": {
            "usr/bin/vread-bench",
            "usr/share/bash-completion/completions/vread-bench",
            "usr/share/man/man1/vread-bench.1.gz",
            "usr/share/vread-bench/vread-bench.jar",
            "usr/share/vread-bench/vread_bench/version",
            "usr/share/doc/vread-bench/examples/targets.yaml",
        },
        "vread-tools": {
            "usr/bin/vread",
            "usr/share/bash-completion/completions/vread",
            "usr/share/man/man1/vread.1.gz",
        },
        "vread-frontend-dkms": {
            "lib/udev/rules.d/60-vread.rules",
            "usr/share/man/man4/vread.4.gz",
            f"usr/src/vread-{released(packages)}/dkms.conf",
        },
        "libvread1": {"usr/lib/x86_64-linux-gnu/libvread.so.1"},
        "libvread-dev": {
            "usr/include/vread.h",
            "usr/lib/x86_64-linux-gnu/libvread.so",
            "usr/lib/x86_64-linux-gnu/pkgconfig/vread.pc",
            "usr/share/man/man3/vread_open.3.gz",
        },
        "vread-hdfs": {
            "usr/lib/x86_64-linux-gnu/jni/libvread_jni.so",
            "usr/share/vread/vread-hdfs.jar",
        },
    }
    for name, wanted in expected.items():
        assert {placed(suite, path) for path in wanted} <= files[name], name
    assert "libguestfs0" not in field(packages["vread-backend"], "Depends")
    assert "libguestfs0" in field(packages["vread-backend"], "Recommends")
    for library in ("libxen", "libssl", "libibverbs"):
        assert library in field(packages["vread-backend"], "Depends")
    assert "libssl" not in field(packages["vread-tools"], "Depends")
    assert "adduser" in field(packages["vread-backend"], "Depends")
    for depends in ("dkms", "adduser"):
        assert depends in field(packages["vread-frontend-dkms"], "Depends")


def test_their_version_names_the_release_of_debian(suite, packages):
    versions = {field(path, "Version") for path in packages.values()}
    assert versions == {f"{released(packages)}+{SUFFIXES[suite]}"}


def unpacked(package, folder, version):
    """A package's files, with another version number."""
    old = field(package, "Version"), field(package, "Version").partition("+")[0]
    tree = folder / field(package, "Package")
    subprocess.run(["dpkg-deb", "--raw-extract", package, tree], check=True)
    for script in (tree / "DEBIAN").iterdir():
        if script.name not in ("md5sums", "conffiles", "symbols"):
            text = script.read_text().replace(old[0], version)
            script.write_text(text.replace(old[1], version))
    for source in tree.glob(f"usr/src/vread-{old[1]}"):
        source = source.rename(source.with_name(f"vread-{version}"))
        conf = source / "dkms.conf"
        conf.write_text(conf.read_text().replace(old[1], version))
    return tree


def packed(tree):
    package = tree.with_suffix(".deb")
    subprocess.run(["dpkg-deb", "-Znone", "--build", tree, package], check=True)
    return package


def modules(root):
    found = root.run("find", "/lib/modules", "-name", "*vread*.ko*").split()
    return sorted(Path(path).name.partition(".")[0] for path in found)


def test_upgrade_from_one_module(root, packages, tmp_path):
    """xen-vreadfront was one module, in which everything was."""
    tree = unpacked(packages["vread-frontend-dkms"], tmp_path, OLDER)
    source = tree / f"usr/src/vread-{OLDER}"
    shutil.rmtree(source)
    source.mkdir()
    for name, text in ONE_MODULE.items():
        (source / name).write_text(text)
    install(root, [packed(tree)])
    assert modules(root) == ["xen-vreadfront"]
    install(root, [packages["vread-frontend-dkms"]])
    assert root.run("dpkg", "--audit") == ""
    assert modules(root) == ["vread-core", "vread-ivshmem", "xen-vreadfront"]
    (state,) = module_states(root)
    assert state.startswith(f"vread/{released(packages)}, ") and state.endswith(": installed")
    (front,) = root.run("find", "/lib/modules", "-name", "xen-vreadfront.ko*").split()
    assert root.run("modinfo", "-F", "depends", front).strip() == "vread-core"
    root.run("apt-get", "purge", "-y", "vread-frontend-dkms")
    assert modules(root) == []


def test_install(suite, root, packages):
    install(root, packages.values())
    assert root.run("dpkg", "--audit") == ""
    version = released(packages)
    for program in ("vread", "xl-vread"):
        assert root.run(program, "version").split() == [program, version]
    assert root.run("vreadd", "--version").split() == ["vreadd", version]
    assert root.run("systemctl", "is-enabled", "vreadd").strip() == "enabled"
    assert root.run("id", "-gn", "vreadd").strip() == "vreadd"
    for group in ("vread", "vread-publish"):
        assert f"{group}:" in root.run("getent", "group", group)
    states = module_states(root)
    assert len(states) == 1 and states[0].startswith(f"vread/{version}, {KERNELS[suite]}"), states
    assert states[0].endswith(": installed")
    assert "xen:vread" in root.run(
        "sh", "-c", "modinfo -F alias $(find /lib/modules -name xen-vreadfront.ko*)"
    )


def test_a_program_is_built_with_the_library(root, packages):
    page = root.run("sh", "-c", "zcat /usr/share/man/man3/libvread.3.gz")
    text = re.search(r"^\.Bd -literal.*?\n(.*?)^\.Ed", page, re.S | re.M)[1]
    root.file("/srv/example.c").write_text(text.replace("\\e", "\\"))
    root.run("gcc", "-Wall", "-Werror", "-o", "/srv/example", "/srv/example.c", "-lvread")
    assert "libvread.so.1 =>" in root.run("ldd", "/srv/example")


def test_a_block_is_read(root, image):
    root.file("/etc/vread/vread.conf").write_text(CONFIG)
    root.run("systemctl", "restart", "vreadd")
    assert read_block(root, image) == image.contents[BLOCK_ID]


def test_the_service_has_only_what_it_needs(root):
    dac_read_search = 1 << 2
    kept = {"vreadd": 0, "vread-opener": dac_read_search, "vread-key-agent": 0, "vread-parser": 0}
    found = {name: pid for pid, name in processes(root).items()}
    assert found.keys() == kept.keys()
    for name, pid in found.items():
        text = root.run("cat", f"/proc/{pid}/status")
        known = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        assert int(known["CapEff"], 16) == int(known["CapPrm"], 16) == kept[name], name
        assert int(known["CapBnd"], 16) == 1 << 2
        assert (known["NoNewPrivs"], known["Seccomp"]) == ("1", "2")
        assert root.run("stat", "-c", "%U", f"/proc/{pid}").strip() == "vreadd"
    assert root.run("stat", "-c", "%U", "/var/lib/vread", "/var/lib/vread/state").split() == [
        "root",
        "vreadd",
    ]
    assert "user vreadd" in root.run("xl-vread", "status")
    root.run("systemctl", "reload", "vreadd")


@pytest.mark.parametrize("name", ["vread-opener", "vread-key-agent"])
def test_a_helper_is_started_again(root, image, name):
    pid = main_pid(root)
    (helper,) = [pid for pid, known in processes(root).items() if known == name]
    root.run("sh", "-c", f"kill -KILL {helper}")  # the root has no program of that name
    another_pid(root, pid)
    assert read_block(root, image) == image.contents[BLOCK_ID]


def test_it_is_started_again_however_often_it_ends(root, image):
    """vreadd is killed six times.  By default systemd gives up at the fifth end within 10 s."""
    for _ in range(6):
        pid = main_pid(root)
        root.run("sh", "-c", f"kill -KILL {pid}")
        another_pid(root, pid)
    assert read_block(root, image) == image.contents[BLOCK_ID]


def test_metrics_are_off_until_somebody_wants_them(root):
    def state(verb):
        return root.run("systemctl", verb, "vread-metrics.timer", check=False).strip()

    def runs():
        told = root.run("systemctl", "show", "-P", "ConditionResult", "vread-metrics.service")
        return told.strip() == "yes"

    assert (state("is-enabled"), state("is-active")) == ("disabled", "inactive")
    root.run("systemctl", "start", "vread-metrics.service")  # does nothing without node_exporter
    assert not runs()
    folder = root.file("/var/lib/prometheus/node-exporter")
    folder.mkdir(parents=True)
    written = folder / "vread.prom"
    try:
        root.run("systemctl", "enable", "--now", "vread-metrics.timer")
        eventually(written.exists, what=lambda: root.run("journalctl", "-u", "vread-metrics"))
        assert "\nvread_up 1\n" in written.read_text()
        assert written.stat().st_mode & 0o777 == 0o644
        assert runs()
        root.run("systemctl", "stop", "vreadd")
        root.run("systemctl", "start", "vread-metrics.service")
        assert "\nvread_up 0\n" in written.read_text()
        root.run("systemctl", "start", "vreadd")
    finally:
        root.run("systemctl", "disable", "--now", "vread-metrics.timer")
        written.unlink(missing_ok=True)
        folder.rmdir()
        folder.parent.rmdir()


def sign_of_life(root):
    """The time, in microseconds, of vreadd's last watchdog message to systemd."""
    return root.run("systemctl", "show", "-P", "WatchdogTimestampMonotonic", "vreadd").strip()


def test_a_daemon_that_hangs_is_started_again(root, image):
    drop_in = root.file("/etc/systemd/system/vreadd.service.d")
    drop_in.mkdir()
    (drop_in / "test.conf").write_text("[Service]\nWatchdogSec=5\n")
    root.run("systemctl", "daemon-reload")
    root.run("systemctl", "restart", "vreadd")
    pid = main_pid(root)
    signs = set()

    def several():
        signs.add(sign_of_life(root))
        return len(signs) > 4  # more than vreadd sends at its start

    eventually(several, what=lambda: f"signs of life but {signs}")
    assert main_pid(root) == pid
    root.run("sh", "-c", f"kill -STOP {pid}")
    another_pid(root, pid)
    assert "watchdog" in root.run("journalctl", "-u", "vreadd").lower()
    assert read_block(root, image) == image.contents[BLOCK_ID]
    for path in (drop_in / "test.conf", drop_in):
        path.unlink() if path.is_file() else path.rmdir()
    root.run("systemctl", "daemon-reload")


def test_it_stops_in_order(root):
    """`systemctl stop` must end vreadd and all that it started."""
    root.run("systemctl", "stop", "vreadd")
    assert root.run("systemctl", "show", "-P", "Result", "vreadd").strip() == "success"
    assert processes(root) == {}
    root.run("systemctl", "start", "vreadd")
    # The parser may start a little later.
    wanted = ["vread-key-agent", "vread-opener", "vread-parser", "vreadd"]
    eventually(lambda: sorted(processes(root).values()) == wanted, what=lambda: processes(root))


def newer(packages, folder):
    """Makes packages of the next version: another version number, and another default
    configuration."""
    made = []
    for package in packages.values():
        tree = unpacked(package, folder, NEWER)
        for conf in tree.glob("etc/vread/vread.conf"):
            conf.write_text(conf.read_text() + "# What the next version says.\n")
        made.append(packed(tree))
    return made


def test_upgrade(root, image, packages, tmp_path):
    before = main_pid(root)
    old = root.file("/var/lib/vread/tokens")  # of a vreadd that was root
    old.mkdir()
    (old / "dn9.json").write_text("{}")
    install(root, newer(packages, tmp_path))
    assert root.run("dpkg", "--audit") == ""
    assert root.file("/etc/vread/vread.conf").read_text() == CONFIG
    assert "next version" in root.file("/etc/vread/vread.conf.dpkg-dist").read_text()
    assert main_pid(root) not in (before, "0")
    moved = root.run("stat", "-c", "%U %n", "/var/lib/vread/state/tokens/dn9.json")
    assert moved == "vreadd /var/lib/vread/state/tokens/dn9.json\n"
    assert not old.exists()
    assert read_block(root, image) == image.contents[BLOCK_ID]
    states = module_states(root)
    assert len(states) == 1 and states[0].startswith(f"vread/{NEWER}, "), states
    assert states[0].endswith(": installed")


def test_purge_leaves_nothing(root):
    root.run("mkdir", "-p", "/var/lib/vread/layouts")
    root.run("touch", "/var/lib/vread/layouts/dn1.json")
    root.run("apt-get", "purge", "-y", *PACKAGES)
    # systemd suggests a library on which openssh-client, which vread-bench needs, depends.
    keeping = "APT::AutoRemove::SuggestsImportant=false"
    root.run("apt-get", "-o", keeping, "autoremove", "-y", "--purge")
    assert processes(root) == {}
    assert root.run("dkms", "status") == ""
    root.run("systemctl", "daemon-reload")
    assert "vreadd" not in root.run("systemctl", "list-unit-files")
    left = root.files(*VOLATILE) - root.files_before
    assert {path for path in left if not OTHERS.fullmatch(path)} == set()
