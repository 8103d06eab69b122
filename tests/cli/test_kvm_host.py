# SPDX-License-Identifier: GPL-2.0-or-later
"""xl-vread on a host of KVM: init writes a configuration with which vread-ivshmem and vreadd serve
guests, list shows their states, attach and detach say what to do instead, and no other command
sends its user to dom0.  xl-vread doctor is in test_doctor.py."""

import os
import re
import subprocess

import pytest

from tests.cli.conftest import XL_VREAD, clean_environment
from tests.support.daemon import Daemon, Image
from tests.support.ivshmemfront import Qemu, Server
from tools.vreadd import REPOSITORY

KVM_PAGE = (REPOSITORY / "docs/kvm.md").read_text()


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    return Image(tmp_path_factory.mktemp("image"))


@pytest.fixture
def host(tmp_path):
    """host(*words): runs xl-vread with host.config as vread.conf.  There is no xenstore."""
    config = tmp_path / "vread.conf"

    def run(*words):
        return subprocess.run(
            [XL_VREAD, *map(str, words)],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env=clean_environment() | {"VREAD_CONFIG": str(config)},
            timeout=120,
        )

    run.config = config
    config.write_text("# mine\n[ivshmem first]\nsocket = /run/first.sock\nallow-datanodes = dn0\n")
    config.chmod(0o640)
    return run


def init(host, image, *words):
    datanode = f"dn1={image.path},/dfs/data"
    return host("init", "--datanode", datanode, "--client", "client1", "--yes", *words)


# ---- init --------------------------------------------------------------------------------------


def test_init_adds_sections_and_keeps_what_is_there(host, image):
    before = host.config.read_text()
    done = init(host, image)
    assert (done.returncode, done.stderr) == (0, "")
    assert host.config.read_text() == (
        f"{before}\n[datanode dn1]\nimage = {image.path}\ndata-dirs = /dfs/data\n"
        "\n[ivshmem dn1]\nsocket = /run/vread-ivshmem/dn1.sock\nrole = datanode\n"
        "allow-datanodes = dn1\npublish-datanodes = dn1\n"
        "\n[ivshmem client1]\nsocket = /run/vread-ivshmem/client1.sock\nallow-datanodes = dn1\n"
    )
    assert host.config.stat().st_mode & 0o777 == 0o640
    assert list(host.config.parent.glob("vread.conf*")) == [host.config]


def test_the_device_that_is_printed_is_that_of_the_page(host, image):
    printed = re.sub(r"(?m)^ +", "", init(host, image).stdout)
    for line in re.findall(r"^ +(-chardev .*|-device .*|<.*>)$", KVM_PAGE.split("## Who")[0], re.M):
        assert f"\n{line}\n" in printed, line


def test_init_again_changes_nothing(host, image):
    init(host, image)
    before = host.config.read_text()
    done = init(host, image)
    assert done.returncode == 0
    assert "There is nothing to write.\n" in done.stdout
    assert host.config.read_text() == before


@pytest.mark.parametrize(
    "words,said",
    [
        (["--datanode", "dn1=/nonexistent,/d"], "datanode dn1: /nonexistent: No such file"),
        (["--datanode", "dn1"], "name its disk, too: --datanode dn1=IMAGE"),
        (["--datanode", "dn1=disk,/d"], "expected the path of its disk"),
        (["--datanode", "d/1={image},/d"], "guest d/1: expected 1 to 63"),
        (["--datanode", "dn1={image},d"], "data-dirs: d: "),
        (["--datanode", "dn1={image},/d", "--client", "a b"], "guest a b: expected 1 to 63"),
        (["--datanode", "dn1={image},/d", "--client", "first"], "[ivshmem first] of"),
    ],
)
def test_what_cannot_be_is_not_written(host, image, words, said):
    before = host.config.read_text()
    done = host("init", *(word.format(image=image.path) for word in words), "--yes")
    assert done.returncode != 0
    assert said in done.stderr
    assert host.config.read_text() == before
    assert list(host.config.parent.glob("vread.conf*")) == [host.config]


def test_init_needs_an_answer(host, image):
    before = host.config.read_text()
    done = host("init", "--datanode", f"dn1={image.path},/dfs/data", "--client", "client1")
    assert (done.returncode, host.config.read_text()) == (1, before)
    assert done.stderr == "xl-vread init: nothing was written: --yes writes it\n"


def states(daemon):
    return [{key: d[key] for key in ("name", "state")} for d in daemon.status()["devices"]]


def test_what_init_wrote_works(host, image, tmp_path):
    """The same sections, with sockets in a folder of the test: a QEMU connects and the datanode is
    served."""
    assert init(host, image).returncode == 0
    text = host.config.read_text().replace("/run/vread-ivshmem", str(tmp_path))
    text = text[text.index("[ivshmem dn1]") :]
    server = Server(tmp_path)
    try:
        server.reload([text])
        daemon = Daemon(tmp_path, image, extra=server.sections)
        try:
            with Qemu(tmp_path / "client1.sock"):
                device = {"name": "kvm:client1", "state": "InitWait"}
                daemon.wait_until(lambda: [device] == states(daemon))
        finally:
            assert daemon.stop() == 0
    finally:
        assert server.stop() == 0


# ---- list, attach, detach ------------------------------------------------------------------------


def test_list_shows_guests_and_qemus(host, image, tmp_path):
    server = Server(tmp_path, "g1", "g2", memory="1M", allow_datanodes="dn1")
    daemon = Daemon(tmp_path, image, extra=server.sections)
    host.config = daemon.config
    run = clean_environment() | {"VREAD_CONFIG": str(daemon.config)}
    try:
        with Qemu(server.sockets["g2"]):
            device = {"name": "kvm:g2", "state": "InitWait"}
            daemon.wait_until(lambda: [device] == states(daemon))
            done = subprocess.run([XL_VREAD, "list"], capture_output=True, text=True, env=run)
        assert (done.returncode, done.stderr) == (0, "")
        assert [line.split() for line in done.stdout.splitlines()] == [
            ["Name", "Role", "State", "Datanodes"],
            ["g1", "client", "no", "QEMU", "dn1"],
            ["g2", "client", "InitWait", "dn1"],
        ]
    finally:
        assert (daemon.stop(), server.stop()) == (0, 0)


def test_list_without_vreadd(host, tmp_path):
    host.config.write_text(host.config.read_text() + f"[vreadd]\ncontrol-socket = {tmp_path}/c\n")
    done = host("list")
    assert done.returncode == 3
    assert done.stdout.splitlines()[1].split() == ["first", "client", "unknown", "dn0"]
    assert "no such socket; is vreadd running" in done.stderr


def test_attach_says_how_a_guest_gets_its_device(host):
    done = host("attach", "first", "datanodes=dn0")
    assert done.returncode == 1
    assert "first: a guest of KVM gets its device from its QEMU" in done.stderr
    assert "-chardev socket,id=vread,path=/run/first.sock\n" in done.stderr
    assert "<server path='/run/first.sock'/>" in done.stderr
    done = host("attach", "second", "datanodes=dn0")
    assert done.returncode == 1
    assert "has no section [ivshmem second]; xl-vread init" in done.stderr
    assert "virsh detach-device" in host("detach", "first").stderr


@pytest.mark.parametrize(
    "words",
    [
        ["watch"],
        ["reboot", "first"],
        ["migrate", "first", "there"],
        ["xenstore", "check"],
        ["list"],
        ["attach", "first", "datanodes=dn0"],
        ["detach", "first"],
    ],
    ids=lambda words: words[0],
)
def test_nobody_is_sent_to_dom0(host, words):
    done = host(*words)
    assert done.returncode != 0
    assert "in dom0" not in done.stderr and "is this dom0" not in done.stderr
    assert os.path.basename(str(host.config)) in done.stderr or words[0] == "list"
