# SPDX-License-Identifier: GPL-2.0-or-later
"""vread doctor and xl-vread doctor: each part that a read needs is broken once; the doctor of that
part must name the part, and what to do about it."""

import errno
import json
import os
import re
import shutil
import socket
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.libvread.conftest import BUILD
from tests.support.block_token import Key
from tests.support.daemon import (
    PUBLISHER,
    STORAGE,
    Daemon,
    Image,
    copy_of_another_release,
    release,
)
from tests.support.hdfs_dir import POOL
from tests.support.ivshmemfront import Qemu, Server
from tests.support.waiting import eventually
from tools.peers import Authority, peer

KERNEL = "6.1.0-44-amd64"
PCI = "0000:01:00.0"
BACK = "/local/domain/0/backend/vread/7/0"
FRONT = "/local/domain/7/device/vread/0"
JAR = BUILD / "java/vread-hdfs.jar"
VERSION_CLASS = "io/vread/Version.class"


class Findings:
    """The doctor's findings, by result."""

    def __init__(self, done):
        assert done.stderr == b""
        self.code = done.returncode
        self.document = json.loads(done.stdout)
        self.role = self.document["role"]

    def of(self, result):
        return {
            f"{f['object']}: {f['found']}": f.get("remedy", "")
            for f in self.document["findings"]
            if f["result"] == result
        }

    @property
    def failed(self):
        return self.of("failed")

    @property
    def warned(self):
        return self.of("warning")

    @property
    def ok(self):
        return self.of("ok")


@pytest.fixture
def root(tmp_path):
    """A directory that takes the place of /, with the files by which Xen shows itself."""
    root = tmp_path / "root"
    put(root / "proc/sys/kernel/osrelease", KERNEL)
    put(root / "sys/hypervisor/type", "xen")
    put(root / "sys/hypervisor/version/major", "4")
    put(root / "sys/hypervisor/version/minor", "17")
    # paths in configurations lead to the same files as outside
    (root / tmp_path.parts[1]).symlink_to(f"/{tmp_path.parts[1]}")
    return root


def put(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")
    return path


# ---- in a guest ----------------------------------------------------------------------------------


@pytest.fixture
def guest(root, vread, xenstored):
    """guest(*words): runs the doctor in a healthy guest, except that no backend answers
    /dev/vread."""
    put(root / "proc/xen/capabilities", "")
    (root / "sys/module/xen_vreadfront").mkdir(parents=True)
    put(root / "dev/vread").chmod(0o666)
    xenstored.domid = 7
    xenstored.put(f"{FRONT}/backend", BACK)
    xenstored.put(f"{BACK}/state", "4")
    xenstored.put(f"{BACK}/allow-datanodes", "dn1 dn2")

    def run(*words, **env):
        env = {"XENSTORED_PATH": xenstored.path, "HADOOP_CONF_DIR": "", **env}
        env = {name: value for name, value in env.items() if value}
        return vread("doctor", "--json", "--root", root, *words, env=env)

    return run


def test_a_guest_knows_itself(guest):
    found = Findings(guest())
    assert found.role == "domU"
    ok = found.ok
    assert "xen-vreadfront: loaded" in ok
    assert "device/vread/0: connected" in ok
    assert "device/vread/0: allowed datanodes: dn1 dn2" in ok
    # the only failure: its node is a file, not a device
    assert [text for text in found.failed if "/dev/vread: no connection: " not in text] == []
    assert found.code == 1


def test_module_missing(guest, root):
    shutil.rmtree(root / "sys/module")
    assert Findings(guest()).failed[
        f"xen-vreadfront: not loaded, and there is no module for this kernel, {KERNEL}"
    ] == (
        f"apt install vread-frontend-dkms linux-headers-{KERNEL}, then modprobe xen-vreadfront; "
        "`dkms status` shows whether it was built"
    )
    file = put(root / f"lib/modules/{KERNEL}/updates/dkms/xen-vreadfront.ko.xz")
    failed = Findings(guest()).failed
    assert failed[f"xen-vreadfront: not loaded; its file is there: {file}"] == (
        "modprobe xen-vreadfront; if that fails, see dmesg"
    )


def test_what_a_missing_module_entails_is_not_told_again(guest, root):
    shutil.rmtree(root / "sys/module")
    (root / "dev/vread").unlink()
    found = Findings(guest())
    assert len(found.failed) == 1
    assert f"{root}/dev/vread: the module that makes it is not loaded" in found.of("not applicable")


def test_wrong_permission(guest, root):
    node = root / "dev/vread"
    node.chmod(0o600)
    failed = Findings(guest("--user", "nobody")).failed
    text = f"{node}: user nobody may not read and write it (mode 0600, group root)"
    assert failed[text] == (
        "is /lib/udev/rules.d/60-vread.rules installed? it gives the device to group vread; "
        f"udevadm trigger {node}"
    )
    os.chown(node, 0, 12)
    node.chmod(0o660)
    failed = Findings(guest("--user", "nobody")).failed
    text = f"{node}: user nobody may not read and write it (mode 0660, group man)"
    assert failed[text] == "usermod -aG man nobody, then restart its processes"
    found = Findings(guest("--user", "root"))
    assert f"{node}: user root may read and write it" in found.ok
    failed = Findings(guest("--user", "nobody-at-all")).failed
    assert f"{node}: there is no user nobody-at-all" in failed


def test_a_publisher(guest, root, xenstored):
    node = f"{root}/dev/vread-publish"
    assert f"{node}: the device's role is not datanode" in Findings(guest()).of("not applicable")
    xenstored.put(f"{BACK}/role", "datanode")
    failed = Findings(guest()).failed
    assert "device/vread/0: no datanode to publish for: every event gets EACCES" in failed
    xenstored.put(f"{BACK}/publish-datanodes", "dn1")
    remedy = Findings(guest()).failed[f"{node}: No such file or directory"]
    assert remedy == "the module makes it when the device connects: see dmesg"
    put(root / "dev/vread-publish").chmod(0o600)
    assert f"{node}: user root may publish for: dn1" in Findings(guest("--user", "root")).ok
    warnings = Findings(guest("--user", "nobody")).of("warning")
    assert warnings[f"{node}: user nobody may not publish"] == (
        "if nobody runs the DataNode: usermod -aG vread-publish nobody, then restart it"
    )


def test_datanode_not_allowed(guest, xenstored):
    assert Findings(guest("--datanode", "dn3")).failed[
        "device/vread/0: datanode dn3 is not allowed; allowed are: dn1 dn2"
    ] == (
        "in dom0: xl-vread detach DOMAIN; xl-vread attach DOMAIN with the datanode in datanodes=, "
        "and in vread = [ ... ] of its configuration"
    )
    assert "device/vread/0: allowed datanodes: dn1 dn2" in Findings(guest("--datanode", "dn2")).ok
    xenstored.put(f"{BACK}/allow-datanodes", "")
    failed = Findings(guest()).failed
    assert "device/vread/0: no datanode is allowed: every open gets EACCES" in failed
    xenstored.put(f"{BACK}/allow-datanodes", "*")
    assert "device/vread/0: allowed datanodes: *" in Findings(guest("--datanode", "dn3")).ok


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ("1", "its backend has not started (Initialising): vreadd does not run there"),
        ("2", "its backend waits for this guest (state 2)"),
        ("6", "its backend has closed it"),
        ("x", "its backend has no state"),
    ],
)
def test_states(guest, xenstored, state, text):
    xenstored.put(f"{BACK}/state", state)
    assert f"device/vread/0: {text}" in Findings(guest()).failed


def test_no_device(guest, xenstored):
    xenstored.remove(FRONT)
    failed = Findings(guest()).failed
    assert failed["device/vread/0: this guest has no vread device"] == (
        "in dom0: xl-vread attach DOMAIN 'datanodes=NAME ...'"
    )


def test_no_guest_of_xen(guest, root):
    shutil.rmtree(root / "sys/hypervisor")
    shutil.rmtree(root / "proc/xen")
    found = Findings(guest())
    said = "this is not a guest of Xen, and has no PCI device ivshmem-doorbell"
    assert f"/sys/hypervisor/type: {said}" in found.failed


@pytest.fixture
def kvm_guest(guest, root):
    """guest(), in a guest of KVM whose module drives its device.  A disk of virtio is beside it."""
    shutil.rmtree(root / "sys/hypervisor")
    shutil.rmtree(root / "proc/xen")
    for name, device in (("0000:00:01.0", "0x1042"), (PCI, "0x1110")):
        put(root / f"sys/bus/pci/devices/{name}/vendor", "0x1af4")
        put(root / f"sys/bus/pci/devices/{name}/device", device)
    driver = root / f"sys/bus/pci/devices/{PCI}/driver"
    driver.symlink_to("../../../bus/pci/drivers/vread-ivshmem")
    (root / "sys/module/xen_vreadfront").rename(root / "sys/module/vread_ivshmem")
    return guest


def test_guest_of_kvm(kvm_guest):
    found = Findings(kvm_guest())
    assert "vread-ivshmem: loaded" in found.ok
    assert f"{PCI}: an ivshmem-doorbell, as guests of KVM have" in found.ok
    assert f"{PCI}: the module drives it" in found.ok
    assert [text for text in found.failed if "/dev/vread: no connection: " not in text] == []


def test_guest_of_kvm_without_driver(kvm_guest, root):
    driver = root / f"sys/bus/pci/devices/{PCI}/driver"
    driver.unlink()
    remedy = Findings(kvm_guest()).failed[f"{PCI}: the module did not take the device"]
    assert "must be one of vread-ivshmem" in remedy
    driver.symlink_to("../../../bus/pci/drivers/uio_pci_generic")
    assert f"{PCI}: driver uio_pci_generic has the device" in Findings(kvm_guest()).failed
    shutil.rmtree(root / "sys/module")
    driver.unlink()
    put(root / f"lib/modules/{KERNEL}/updates/dkms/xen-vreadfront.ko.xz")
    failed = Findings(kvm_guest()).failed
    assert f"vread-ivshmem: not loaded, and there is no module for this kernel, {KERNEL}" in failed


def test_in_dom0(guest, root, vread, vreadd):
    """Only a reader at a local port of vreadd can be checked there."""
    put(root / "proc/xen/capabilities", "control_d")
    done = guest()
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"vread doctor: this is dom0: use 'xl-vread doctor' here" in done.stderr
    found = Findings(guest("--endpoint", vreadd.endpoint))
    assert f"{vreadd.endpoint}: the backend answers" in found.ok


def test_of_a_real_backend(vread, vreadd):
    found = Findings(vread("doctor", "--json", "--endpoint", vreadd.endpoint))
    assert f"{vreadd.endpoint}: the backend answers" in found.ok
    assert (found.failed, found.code) == ({}, 0)


def test_nobody_at_the_endpoint(vread, endpoint):
    found = Findings(vread("doctor", "--json", "--endpoint", endpoint))
    assert list(found.failed) == [f"{endpoint}: No such file or directory"]


# ---- Hadoop --------------------------------------------------------------------------------

CLIENT = {"fs.hdfs.impl": "io.vread.hdfs.VreadFileSystem"}
BUILDER = {
    "dfs.client.replica.accessor.builder.classes": "a.B,io.vread.hdfs.VreadReplicaAccessorBuilder"
}
DATANODE = {"dfs.datanode.fsdataset.factory": "io.vread.datanode.VreadFsDatasetFactory"}


@pytest.fixture
def hadoop(tmp_path, vread, vreadd):
    """hadoop(properties, ...): runs the doctor on an hdfs-site.xml with these properties and on a
    class path."""

    def run(properties, class_path=JAR, text=None, **env):
        site = "".join(
            f"<property><name>{name}</name>\n<value>{value}</value></property>"
            for name, value in properties.items()
        )
        put(tmp_path / "conf/hdfs-site.xml", text or f"<configuration>{site}</configuration>")
        words = ["--endpoint", vreadd.endpoint, "--json"]
        words += ["--hadoop-conf", tmp_path / "conf"]
        if class_path:
            words += ["--class-path", class_path]
        return Findings(vread("doctor", *words, env=env))

    return run


def test_a_client_as_it_should_be(hadoop, tmp_path):
    found = hadoop(CLIENT)
    (name, value) = next(iter(CLIENT.items()))
    assert f"{tmp_path}/conf/hdfs-site.xml: {name} has {value}" in found.ok
    version = subprocess.run([BUILD / "asan/vread", "version"], capture_output=True, text=True)
    version = version.stdout.split()[1]
    assert f"{JAR}: on Hadoop's class path, version {version}" in found.ok
    assert any(text.startswith("java: version ") for text in found.ok)
    assert found.code == 0


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "does not set fs.hdfs.impl"),
        ("x.Y", "fs.hdfs.impl is x.Y"),
        (
            "io.vread.hdfs.VreadFileSystem2",
            "fs.hdfs.impl is io.vread.hdfs.VreadFileSystem2",
        ),
    ],
)
def test_a_client_that_is_not_told(hadoop, tmp_path, value, said):
    failed = hadoop({next(iter(CLIENT)): value} if value else DATANODE).failed
    assert failed[f"{tmp_path}/conf/hdfs-site.xml: {said}"] == (
        "set fs.hdfs.impl to io.vread.hdfs.VreadFileSystem (see docs/hadoop.md)"
    )


def test_a_client_with_the_builder_alone(hadoop, tmp_path):
    found = hadoop(BUILDER)
    (said,) = (text for text in found.warned if "without block tokens" in text)
    assert said.startswith(f"{tmp_path}/conf/hdfs-site.xml: has {next(iter(BUILDER))} without")
    assert (found.failed, found.code) == ({}, 0)
    assert hadoop(BUILDER | CLIENT).warned == hadoop(CLIENT).warned


def test_a_site_that_is_no_xml(hadoop, tmp_path):
    failed = hadoop({}, text="<configuration>\n<property></configuration>").failed
    assert f"{tmp_path}/conf/hdfs-site.xml: line 2: mismatched tag" in failed


def test_missing_jar(hadoop, tmp_path):
    remedy = (
        "install vread-hdfs, and set HADOOP_CLASSPATH=/usr/share/vread/vread-hdfs.jar "
        "in hadoop-env.sh"
    )
    failed = hadoop(CLIENT, class_path=tmp_path).failed
    assert failed == {"vread-hdfs.jar: is not on Hadoop's class path": remedy}
    gone = tmp_path / "vread-hdfs.jar"
    failed = hadoop(CLIENT, class_path=f"{tmp_path}/other:{gone}").failed
    assert failed == {f"{gone}: is on Hadoop's class path, but does not exist": remedy}


def test_a_jar_of_another_release(hadoop, tmp_path):
    other = tmp_path / "other.jar"
    with ZipFile(JAR) as ours, ZipFile(other, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Implementation-Version: 0.0.1\n\n")
        jar.writestr(VERSION_CLASS, ours.read(VERSION_CLASS))
    failed = hadoop(CLIENT, class_path=other).failed
    assert any(
        text.startswith(f"{other}: is version 0.0.1, libvread is version") for text in failed
    )


def test_the_class_path_hadoop_says(hadoop, tmp_path):
    script = put(tmp_path / "bin/hadoop", f"#!/bin/sh\n[ $1 = classpath ] && echo {JAR}")
    script.chmod(0o755)
    found = hadoop(CLIENT, class_path=None, PATH=f"{script.parent}:{os.environ['PATH']}")
    assert any(text.startswith(f"{JAR}: on Hadoop's class path") for text in found.ok)
    script.write_text("#!/bin/sh\nexit 1\n")
    failed = hadoop(CLIENT, class_path=None, HADOOP_HOME=str(tmp_path)).failed
    assert failed[f"{script}: `hadoop classpath` does not work: it ended with an error"] == (
        "set HADOOP_HOME, or give --class-path"
    )


def test_no_java(hadoop, tmp_path):
    failed = hadoop(CLIENT, JAVA_HOME=str(tmp_path)).failed
    assert f"{tmp_path}/bin/java: does not run: No such file or directory" in failed


def test_switched_off(hadoop):
    found = hadoop({**CLIENT, "io.vread.enabled": "false", "io.vread.endpoint": "/x"})
    warnings = found.of("warning")
    assert "io.vread.enabled: is false: everything is read by TCP" in warnings
    assert any(text.startswith("io.vread.endpoint: is /x, but ") for text in warnings)
    assert found.code == 0


# ---- in dom0 --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    return Image(tmp_path_factory.mktemp("image"))


@pytest.fixture(scope="module")
def running(tmp_path_factory, image):
    """A vreadd for all tests that change nothing about it."""
    daemon = Daemon(tmp_path_factory.mktemp("vreadd"), image)
    yield daemon
    ended(daemon)


@pytest.fixture
def start(tmp_path, image):
    """start(extra=...): starts a vreadd for this test, in tmp_path / "vreadd"."""
    daemons = []

    def run(image=image, **arguments):
        folder = tmp_path / "vreadd"
        folder.mkdir(exist_ok=True)
        daemons.append(Daemon(folder, image, **arguments))
        return daemons[-1]

    yield run
    for daemon in daemons:
        ended(daemon)


def ended(daemon):
    try:
        assert daemon.stop() == 0, daemon.log()
    finally:
        daemon.kill()


@pytest.fixture
def host(root, xl_vread, xenstored):
    """host(daemon, *words): runs the doctor in a dom0 with that vreadd."""
    put(root / "proc/xen/capabilities", "control_d")
    for name in ("gntdev", "evtchn", "privcmd", "xenbus"):
        put(root / "dev/xen" / name)
    (root / "usr/sbin").mkdir(parents=True)
    (root / "usr/sbin/vread-provision").symlink_to(BUILD / "asan/vread-provision")

    def doctor(daemon, *words, config=None):
        options = ["--config", config or daemon.config, "--socket", daemon.control]
        return xl_vread(
            *("doctor", "--root", root, *options, *words),
            env={"XENSTORED_PATH": xenstored.path, "TZ": "UTC"},
        )

    return doctor


@pytest.fixture
def findings(host):
    return lambda daemon, **arguments: Findings(host(daemon, "--json", **arguments))


def test_vread_ivshmem_does_not_run(start, findings, tmp_path):
    section = "[ivshmem g1]\nsocket = /g1.sock\n"
    daemon = start(extra=f"[vreadd]\nivshmem-socket = {tmp_path}/none.sock\n{section}")
    (failed,) = [f for f in findings(daemon).failed.items() if f[0].startswith("port kvm: ")]
    assert failed == (
        "port kvm: unavailable: cannot connect to vread-ivshmem: No such file or directory",
        "systemctl enable --now vread-ivshmem; vreadd then finds it by itself",
    )


def attach(store, **nodes):
    """Writes the nodes of a device as xl-vread attach does; `nodes` are changes."""
    dom0, guest = ("n0", "r7"), ("n7", "r0")
    store.put(BACK, "", dom0)
    store.put(FRONT, "", guest)
    backend = {
        **{"frontend": FRONT, "frontend-id": "7", "online": "1", "role": "client"},
        **{"allow-datanodes": "dn1", "allow-pools": "*", "state": "1"},
        **nodes,
    }
    for name, value in backend.items():
        store.put(f"{BACK}/{name}", value, dom0)
    for name, value in {"backend": BACK, "backend-id": "0", "state": "1"}.items():
        store.put(f"{FRONT}/{name}", value, guest)


def test_a_host_as_it_should_be(host, findings, running, image, root):
    done = host(running)
    text = done.stdout.decode()
    assert done.returncode == 0, text
    assert text.splitlines()[-1].startswith("dom0: 0 failed, 2 warnings, ")
    assert "WARNING  devices: no guest has a vread device\n" in text
    assert "WARNING  user: vreadd runs as root\n" in text  # as tests start it
    found = findings(running)
    assert "/sys/hypervisor: Xen 4.17, and this is dom0" in found.ok
    assert f"{root}{image.path}: datanode dn1, read buffered" in found.ok
    assert "dn1: served, 1 storages" in found.ok
    assert "dn1: its vread-parser runs" in found.ok
    assert "dn1: block tokens off: the datanode never sent keys" in found.ok


def test_a_vreadd_of_another_release(findings, start, tmp_path):
    """Its own parts are of its release, so it serves.  Only the commands may not know it."""
    programs = tmp_path / "programs"
    programs.mkdir()
    shutil.copy(BUILD / "asan/vread-key-agent", programs)
    for name in ("vreadd", "vread-parser"):
        other = copy_of_another_release(name, programs / name)
    found = findings(start(program=programs / "vreadd"))
    said = f"vreadd: runs version {other}, but this is xl-vread {release()}"
    assert found.failed == {said: "install both of one release, then systemctl restart vreadd"}


def test_everything_fits_a_terminal(host, running, xenstored):
    attach(xenstored, **{"allow-datanodes": "dn1 " + "x" * 100})
    lines = host(running, "-v").stdout.decode().splitlines()
    assert max(map(len, lines)) <= 80
    assert "ok       xenstored: answers" in lines


OFF = (
    "say tokens = off in its section of vread.conf and xl-vread reload, or tokens=off in the "
    "vread line of its domain"
)


def test_block_tokens(findings, start, image):
    daemon = start(image, local=PUBLISHER)
    key = Key(1, expiry=2_000_000_000_000)
    with daemon.front() as front:
        assert front.keys(POOL, STORAGE, [key]) == 0
        assert "dn1: block tokens on, keys until 2033-05-18 03:33:20" in findings(daemon).ok
        assert front.keys(POOL, STORAGE, [], tokens=0) == -errno.EPERM
        assert findings(daemon).of("warning").pop(
            "dn1: the datanode says that block tokens are off; they were on and stay on"
        ) == (
            f"if you have switched them off in Hadoop: {OFF}; if not, find out who else publishes "
            "for it"
        )
        assert front.keys(POOL, STORAGE, []) == 0
    found = f"dn1: block tokens on, without keys of {POOL}: no block of it is opened"
    remedy = (
        "does the datanode run, with a publisher and a device of role datanode? if HDFS uses "
        f"block tokens no longer: {OFF}"
    )
    assert findings(daemon).failed == {found: remedy}


def test_block_tokens_after_a_start(findings, start, image, tmp_path):
    """vreadd has no keys yet, and what it remembered is damaged."""
    folder = tmp_path / "vreadd"
    put(folder / "tokens" / "dn1.json")
    failed = findings(start(image)).failed
    assert failed.keys() == {
        "dn1: block tokens on, without keys: no block is opened",
        f"dn1: {folder}/tokens/dn1.json: damaged: expected a file of vreadd that says that "
        "datanode dn1 uses block tokens",
    }


def test_block_tokens_off(findings, start, image):
    daemon = start(image, extra="tokens = off\n")
    assert "dn1: block tokens off by the operator (tokens = off)" in findings(daemon).ok


def test_no_provisioner(findings, running, root):
    program = root / "usr/sbin/vread-provision"
    program.unlink()
    assert findings(running).failed == {
        f"{program}: is missing": "install vread-backend: it makes the layouts of vread.conf"
    }
    put(program, "#!/bin/sh\nexit 127").chmod(0o755)
    (text,) = findings(running).failed
    assert text == f"{program}: does not start: are its libraries installed?"


def test_nodes_of_xen_missing(findings, running, root):
    (root / "dev/xen/gntdev").unlink()
    found = findings(running)
    assert found.failed == {"/dev/xen/gntdev: is missing": "modprobe xen-gntdev"}
    assert found.code == 1


def test_image_moved(findings, start, tmp_path, root):
    """The image is moved, then copied; the doctor must report both.  vreadd was just started:
    within a minute it would look again by itself."""
    image = Image(tmp_path)
    daemon = start(image)
    path = Path(image.path)
    away = path.rename(path.with_name("away"))
    failed = findings(daemon).failed
    assert failed[f"{root}{path}: No such file or directory"] == (
        "put the image of datanode dn1 there, or correct image in [datanode dn1] of "
        "vread.conf and run xl-vread reload"
    )
    shutil.copy(away, path)
    ((text, remedy),) = findings(daemon).failed.items()
    assert text == (
        f"{root}{path}: image moved: vreadd reads inode {away.stat().st_ino}, "
        f"here is inode {path.stat().st_ino}"
    )
    assert remedy.startswith("was the disk moved or copied? vreadd looks again within a minute")


def test_stale_layout(findings, start, tmp_path):
    image = Image(tmp_path)
    size = os.path.getsize(image.path)
    os.truncate(image.path, size + (1 << 20))
    assert findings(start(image)).failed == {
        "dn1: waiting: its layout does not fit: "
        f"layout {image.layout} is for an image of {size} bytes, but {image.path} "
        f"has {size + (1 << 20)}: the image was grown or replaced; run vread-provision again": (
            f"write the layout again: vread-provision {image.path} -o {image.layout}; "
            "vreadd picks up the new file"
        )
    }


@pytest.fixture
def refusing_address():
    """An address where no program listens, nor can: its port is taken."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{s.getsockname()[1]}"


def test_peer_down_and_no_adapter(findings, start, authority, root, refusing_address):
    address = refusing_address
    section = authority.host("a", transports="rdma tcp")
    daemon = start(extra=section + peer("b", address=address, datanodes="dn2"))
    # Storages that are new to this host wait some seconds for that peer.
    (found,) = eventually(lambda: [f for f in [findings(daemon)] if len(f.failed) < 3])
    assert found.failed == {
        f"b: peer down: {address}: Connection refused": (
            "does vreadd run there, with listen in [peers]? is the port open between the hosts?"
        ),
        "/sys/class/infiniband: no RDMA adapter, but transports of [peers] has rdma": (
            "load the adapter's driver (modprobe ib_uverbs, mlx5_ib, rdma_rxe ...), or remove "
            "rdma from transports of [peers]"
        ),
    }
    (soon,) = (text for text in found.of("warning") if ".pem: of this host: " in text)
    assert " expires in " in soon
    put(root / "sys/class/infiniband/rxe0")
    assert "/sys/class/infiniband: 1 adapter" in findings(daemon).ok


def test_certificate_expired(findings, running, authority, tmp_path):
    files = authority.certificate("c", start="20200101000000Z", end="20200102000000Z")
    section = authority.host("c", files=files)
    config = put(tmp_path / "vread.conf", running.config.read_text() + section)
    (text,) = findings(running, config=config).failed
    assert ".pem: of this host: expired " in text
    assert text.endswith(" days ago; no peer trusts it")


def test_a_key_that_others_can_use(findings, running, authority, root, tmp_path):
    certificate, key = authority.certificate("e")
    section = authority.host("e", files=(certificate, key))
    config = put(tmp_path / "vread.conf", running.config.read_text() + section)
    right = f"{root}{key}: private key of this host: only root can use it"
    assert right in findings(running, config=config).ok
    key.chmod(0o604)
    wrong = (
        f"{root}{key}: private key of this host: mode 0604, group 0: others than root can use it"
    )
    assert findings(running, config=config).failed == {
        wrong: "chmod 0600 it; make a new key if others may have read it"
    }


def test_configuration_with_mistakes(findings, running, tmp_path):
    config = put(tmp_path / "vread.conf", "[vreadd]\nlog-level = loud\n[datanode]\n")
    failed = findings(running, config=config).failed
    assert any(f"{config}:2: [vreadd] log-level: loud: " in text for text in failed), failed
    assert any(f"{config}:3: " in text for text in failed), failed


def test_a_datanode_that_vreadd_does_not_know_yet(findings, running, image, tmp_path):
    more = f"[datanode dn7]\nimage = {image.path}\nlayout = {image.layout}\n"
    config = put(tmp_path / "vread.conf", running.config.read_text() + more)
    assert findings(running, config=config).failed == {
        "dn7: is in vread.conf, but vreadd does not know it yet": "xl-vread reload"
    }


def test_in_a_guest(xl_vread, host, running, root):
    """A driver domain may run vreadd, too: its configuration is named."""
    put(root / "proc/xen/capabilities", "")
    done = xl_vread("doctor", "--root", root)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"xl-vread doctor: this is a guest: use 'vread doctor' here" in done.stderr
    found = Findings(host(running, "--json"))
    assert "/proc/xen/capabilities: this is not dom0" in found.failed


def test_without_xenfs(xl_vread, root):
    """Nothing is mounted at /proc/xen, in dom0 and in a guest."""
    features = root / "sys/hypervisor/properties/features"
    put(features, "00002f15")
    found = Findings(xl_vread("doctor", "--json", "--root", root))
    said = "/proc/xen/capabilities: cannot be read: No such file or directory"
    assert found.failed[said] == "mount -t xenfs xenfs /proc/xen"
    put(features, "00002705")
    done = xl_vread("doctor", "--root", root)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"this is a guest" in done.stderr


def test_no_daemon(xl_vread, running, tmp_path):
    nobody = tmp_path / "control.sock"
    options = ["--config", running.config, "--socket", nobody]
    found = Findings(xl_vread("doctor", "--json", *options))
    text = f"vreadd: {nobody}: no such socket; is vreadd running, with this control-socket?"
    assert found.failed[text] == "systemctl start vreadd; if it ends at once: journalctl -u vreadd"


def test_devices(findings, running, xenstored):
    attach(xenstored)
    found = findings(running)
    assert "xen:7/0: its nodes are valid" in found.ok
    assert found.failed == {
        "xen:7/0: stuck in Initialising: vreadd has not seen it": (
            "systemctl restart vreadd; it picks devices up by itself"
        )
    }
    xenstored.put(f"{BACK}/state", "6")
    xenstored.put(f"{BACK}/online", "yes")
    xenstored.put(f"{BACK}/allow-datanodes", "dn1 dn9")
    failed = findings(running).failed
    assert "xen:7/0: closed: vreadd does not know the device" in failed
    assert failed[f'{BACK}/online: is "yes", expected a number from 0 to 1'] == (
        "xl-vread detach 7 --id 0 --force, then attach it again with what it may read"
    )
    assert "xen:7/0: allows datanode dn9, which vread.conf does not name" in failed
    xenstored.put(f"{BACK}/allow-datanodes", "")
    failed = findings(running).failed
    assert failed["xen:7/0: no datanode is allowed: it can read nothing"] == (
        "xl-vread detach 7; xl-vread attach 7 'datanodes=NAME ...'"
    )


def test_a_device_open_to_others(findings, running, xenstored):
    attach(xenstored)
    xenstored.put(f"{BACK}/allow-datanodes", "dn1", ("n0", "b7"))
    xenstored.put("/local/domain/7/device/vread/3/state", "1", ("n7", "r0"))
    found = findings(running)
    assert "xen:7/0: its nodes are valid" not in found.ok
    assert (
        found.failed[
            f"{BACK}/allow-datanodes: has permissions n0 b7, so domain 7 may read and write it,"
            " expected n0 r7"
        ]
        == f"xenstore-chmod {BACK}/allow-datanodes n0 r7"
    )
    front = "/local/domain/7/device/vread/3"
    assert (
        f"{front}: has no backend directory, expected /local/domain/0/backend/vread/7/3"
        in found.failed
    )


# ---- a remedy belongs to the reason that was found ------------------------------------------


FORMAT = "then xl-vread reload; `qemu-img info IMAGE` shows the format"
GUESTS = "no setting of vRead reads this disk: its blocks go over TCP as long as its guest "
UNFORMATTED = (
    "has the datanode formatted its directory? is data-dirs the path inside the file system? "
    "`xl-vread inspect IMAGE` shows what is there"
)
DISKS = {  # name: (command that makes it, prefix of its path, what is found, what is to be done)
    "luks": (
        "printf x | cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 {path} -",
        "",
        "is encrypted by its guest (LUKS)",
        f"{GUESTS}encrypts it",
    ),
    "btrfs": ("mkfs.btrfs -q -f {path}", "", "is btrfs", f"{GUESTS}has them on it"),
    "raw-as-qcow2": (
        "mke2fs -q -F -t ext4 {path}",
        "qcow2:",
        "it is not a qcow2 file",
        f"correct the format before the path of image (raw:, qcow2: or vhd:), {FORMAT}",
    ),
    "qcow2-as-raw": (
        "qemu-img create -q -f qcow2 {path} 64M",
        "",
        "looks like a qcow2 file but is configured as raw",
        f"name the format before the path, as in image = qcow2:/srv/dn1.qcow2, {FORMAT}",
    ),
    "link": (
        "mkdir {path}.d; ln -s /mnt/disk1 {path}.d/dfs; mke2fs -q -F -d {path}.d {path}",
        "",
        "/dfs is a symbolic link to /mnt/disk1",
        "name the path inside the file system that has the directory in data-dirs, then xl-vread "
        "reload",
    ),
    "mount-point": (
        "mkdir -p {path}.d/data/current; printf 'storageType=DATA_NODE\\nstorageID=DS-1\\n' "
        "> {path}.d/data/current/VERSION; mke2fs -q -F -d {path}.d {path}",
        "",
        "if the guest mounts this file system on /dfs, name it /data here",
        "correct data-dirs as the reason says, then xl-vread reload; if the path is right and the "
        "datanode has not formatted the directory yet, nothing needs to be done",
    ),
    "unformatted": ("mke2fs -q -F -t ext4 {path}", "", "no data directory /dfs/data", UNFORMATTED),
    "no-disk": (
        "true",
        "",
        "is not a disk: it has neither a partition table nor a file system",
        "is it the disk with the data directories? `xl-vread inspect IMAGE` shows what is on it; "
        "a disk that its guest has still to partition needs nothing",
    ),
    "gone": (
        "rm {path}",
        "",
        "No such file or directory",
        "put the image there, or correct image in its section of vread.conf and run xl-vread "
        "reload",
    ),
}


@pytest.mark.parametrize("name", DISKS)
def test_the_remedy_belongs_to_the_reason(findings, start, tmp_path, name):
    command, prefix, said, remedy = DISKS[name]
    path = tmp_path / "disk"
    with open(path, "wb") as disk:
        disk.truncate(128 << 20)
    subprocess.run(command.format(path=path), shell=True, check=True, capture_output=True)
    failed = findings(start(Directories(f"{prefix}{path}", ["/dfs/data"]))).failed
    ((text, told),) = [(k, v) for k, v in failed.items() if k.startswith("dn1: ")]
    assert said in text
    assert ("Check the path inside the file system" in text) == (name == "unformatted")
    assert told == remedy


class Directories:
    """An image as Daemon takes it, with data directories instead of a layout."""

    def __init__(self, path, data_dirs):
        self.path, self.data_dirs = path, data_dirs


def test_an_image_of_a_layout_is_gone(findings, start, tmp_path):
    """The layout is right: to write it again would not help."""
    image = Image(tmp_path)
    Path(image.path).unlink()
    ((text, told),) = [i for i in findings(start(image)).failed.items() if i[0].startswith("dn1: ")]
    assert "No such file or directory" in text and "does not fit" not in text
    assert told == DISKS["gone"][3]


def test_no_configuration(findings, running, tmp_path):
    gone = tmp_path / "gone.conf"
    failed = findings(running, config=gone).failed
    (remedy,) = [failed[text] for text in failed if text.startswith(f"configuration: {gone}: ")]
    assert remedy == (
        "write it, see vread.conf(5), or get the package's: apt install --reinstall "
        "-o Dpkg::Options::=--force-confmiss vread-backend; then systemctl restart vreadd"
    )


# ---- a host of KVM -----------------------------------------------------------------------------


@pytest.fixture
def kvm(tmp_path, xl_vread):
    """kvm(daemon, *words): runs the doctor on a host of KVM without Xen."""
    root = tmp_path / "kvm-root"
    put(root / "proc/sys/kernel/osrelease", KERNEL)
    put(root / "dev/kvm")
    (root / "usr/sbin").mkdir(parents=True)
    (root / "usr/sbin/vread-provision").symlink_to(BUILD / "asan/vread-provision")
    (root / tmp_path.parts[1]).symlink_to(f"/{tmp_path.parts[1]}")

    def doctor(daemon, *words, config=None):
        options = ["--config", config or daemon.config, "--socket", daemon.control]
        return Findings(xl_vread("doctor", "--json", "--root", root, *options, *words))

    doctor.root = root
    return doctor


@pytest.fixture
def guests(tmp_path, start):
    """guests(*names): vread-ivshmem and vreadd for guests of these names."""
    servers = []

    def run(*names, **keys):
        server = Server(tmp_path, *names, **{"memory": "1M", "allow_datanodes": "dn1", **keys})
        servers.append(server)
        return server, start(extra=server.sections)

    yield run
    for server in servers:
        assert server.stop() == 0, server.log()


def of_kvm(found, result):
    return {k: v for k, v in found.of(result).items() if not k.startswith(("user:", "/", "port "))}


def test_no_guest_of_kvm_is_configured(kvm, running):
    found = kvm(running)
    assert found.role == "host"
    assert "/sys/hypervisor/type: no Xen here: a host of KVM" in found.ok
    assert of_kvm(found, "warning") == {
        "guests of KVM: vread.conf has no [ivshmem NAME]: no guest can read": (
            "xl-vread init --datanode NAME=IMAGE --client GUEST writes them"
        )
    }
    assert found.failed == {}


def test_no_qemu_is_connected(kvm, guests):
    server, daemon = guests("g1")
    socket_path = server.sockets["g1"]
    found = kvm(daemon)
    assert of_kvm(found, "warning") == {
        "kvm:g1: no QEMU is connected": (
            f"start the guest with -chardev socket,id=vread,path={socket_path} -device "
            "ivshmem-doorbell,chardev=vread,vectors=5 (xl-vread attach g1 prints libvirt's XML); "
            "if it was refused: journalctl -u vread-ivshmem"
        )
    }
    assert found.failed == {}
    with Qemu(socket_path):
        states = ["InitWait"]
        daemon.wait_until(lambda: [d["state"] for d in daemon.status()["devices"]] == states)
        (text,) = of_kvm(kvm(daemon), "warning")
        assert text.startswith("kvm:g1: its QEMU is connected; waits for the guest: ")
    socket_path.unlink()
    daemon.wait_until(lambda: not daemon.status()["devices"])
    (text,) = kvm(daemon).failed
    assert text == f"kvm:g1: {socket_path}: No such file or directory"


def test_a_guest_of_kvm_that_may_read_nothing(kvm, guests):
    _, daemon = guests("g1", "g2", allow_datanodes="")
    assert kvm(daemon).failed.keys() == {
        f"kvm:{name}: no datanode is allowed: it can read nothing" for name in ("g1", "g2")
    }


def test_a_guest_of_kvm_that_may_read_an_unknown_datanode(kvm, guests):
    _, daemon = guests("g1", allow_datanodes="dn1 dn9")
    assert kvm(daemon).failed == {
        "kvm:g1: allows datanode dn9, which vread.conf does not name": (
            "correct allow-datanodes in its section, or add [datanode NAME] or datanodes of a "
            "[peer] to vread.conf; then xl-vread reload"
        )
    }


def test_vread_ivshmem_does_not_run_on_a_host_of_kvm(kvm, start, tmp_path):
    """It is told once, and not for each guest."""
    sections = "".join(
        f"[ivshmem g{i}]\nsocket = /g{i}.sock\nallow-datanodes = dn1\n" for i in (1, 2)
    )
    daemon = start(extra=f"[vreadd]\nivshmem-socket = {tmp_path}/none.sock\n{sections}")
    assert kvm(daemon).failed == {
        "port kvm: unavailable: cannot connect to vread-ivshmem: No such file or directory": (
            "systemctl enable --now vread-ivshmem; vreadd then finds it by itself"
        )
    }


def test_sections_that_vreadd_has_not_read(kvm, running, tmp_path):
    section = f"[ivshmem g1]\nsocket = {tmp_path}/g1.sock\nallow-datanodes = dn1\n"
    config = put(tmp_path / "new.conf", running.config.read_text() + section)
    failed = kvm(running, config=config).failed
    said = "port kvm: is off: vreadd has not read the sections [ivshmem NAME] yet"
    assert failed.pop(said) == "xl-vread reload"
    assert list(failed) == [f"kvm:g1: {tmp_path}/g1.sock: No such file or directory"]


def test_neither_xen_nor_kvm(kvm, running, tmp_path):
    (kvm.root / "dev/kvm").unlink()
    text = running.config.read_text()
    config = put(tmp_path / "new.conf", re.sub(r"(?m)^(socket|allow-datanodes) = .*", "", text))
    found = kvm(running, config=config)
    assert "/sys/hypervisor/type: neither Xen nor KVM here" in found.of("warning")
    assert "boot this machine" not in str(kvm(running).document)
