# SPDX-License-Identifier: GPL-2.0-or-later
"""xl-vread with domains that are datanodes: it must find their disks and write the datanode's file,
which vreadd must serve.

xl is the script of test_xl_vread.py; the tests write the disks' backend directories as libxl would.
"""

import json
import os

import pytest

from tests.cli.control_socket import ControlSocket
from tests.cli.test_xl_vread import DOMID, UUID, Host, watching
from tests.libvread import vreadlib
from tests.libvread.conftest import BUILD, lib  # noqa: F401
from tests.support.waiting import eventually
from tools.vreadd import Vreadd

LINE = "role=datanode,datanodes=dn1,data-dirs=/dfs/data"
APPLIED = b'{"result": "applied", "changes": [], "restart": []}\n'
NOW = f"datanode dn1: its disks are those of domain web ({DOMID}) now\n"
OTHER = UUID.replace("6d", "aa")


class DatanodeHost(Host):
    def __init__(self, folder, store):
        super().__init__(folder, store)
        self.files = folder / "datanodes"
        self.configure()

    def configure(self, text="", control=None):
        """Writes vread.conf.  control: the socket of a vreadd; else no vreadd runs."""
        config = self.folder / "vread.conf"
        config.write_text(
            f"[vreadd]\ndatanode-files = {self.files}\n"
            f"control-socket = {control or self.folder / 'c'}\n{text}"
        )
        self.use(config)

    def use(self, config):
        self.vread_conf = config
        self.environment["VREAD_CONFIG"] = str(config)

    def add_disk(self, name, params, kind="vbd", mode="w", domid=DOMID, **nodes):
        number = (202 << 8) + (ord(name[-1]) - ord("a") << 4)
        directory = f"/local/domain/0/backend/{kind}/{domid}/{number}"
        nodes = {"device_type": "disk", "dev": name, "mode": mode} | nodes
        for node, value in nodes.items():
            self.store.put(f"{directory}/{node.replace('_', '-')}", value)
        self.store.put(f"{directory}/params", params)

    def file(self, name="dn1"):
        path = self.files / f"{name}.conf"
        return path.read_text().splitlines() if path.exists() else None

    def create(self, line=LINE, **environment):
        return self.run("create", self.config(f'vread = [ "{line}" ]'), **environment)


def section(*images, dirs="/dfs/data", folders=None, uuid=UUID):
    return [
        f"# Disks of domain {uuid}, kept by xl-vread(8): what is changed here is lost.",
        "[datanode dn1]",
        *(f"image = {image}" for image in images),
        f"data-dirs = {dirs}",
        *([f"backing-folders = {folders}"] if folders else []),
    ]


@pytest.fixture
def host(tmp_path, xenstored):
    return DatanodeHost(tmp_path, xenstored)


@pytest.fixture
def daemon(host):
    """A fake vreadd that accepts every request and keeps the requests."""
    with ControlSocket(host.folder / "socket", APPLIED) as control:
        host.configure(control=host.folder / "socket")
        yield control


# ---- with a vreadd


def test_one_line_and_it_is_served(host, served, lib):  # noqa: F811
    (image, _), block = served[0]["dn1"], served[1]["odd"]
    files = f"[vreadd]\ndatanode-files = {host.files}\n"
    with Vreadd({}, variant="asan", sections=files) as vreadd:
        host.use(vreadd.status()["config"])
        host.add_disk("xvda", f"aio:{image}", kind="qdisk")
        done = host.create()
        assert (done.returncode, done.stderr) == (0, NOW)
        assert host.file() == section(f"raw:{image}")
        eventually(lambda: vreadd.status()["datanodes"][0].get("filesystems"))
        assert vreadd.status()["datanodes"][0]["file"] == str(host.files / "dn1.conf")
        with (
            vreadlib.Connection(lib, vreadd.endpoint) as connection,
            connection.open(block.pool, block.id, block.genstamp) as f,
        ):
            assert bytes(f.pread(block.length, 0)) == block.content()
        assert host.record() == [
            f"id=0,role=datanode,datanodes=dn1,pools=*,publish-datanodes=dn1,{LINE[28:]},disks=xvda"
        ]
        assert host.run("detach", "--force", "--wait", "0", "web").returncode == 0
        assert (host.file(), vreadd.status()["datanodes"]) == (None, [])


@pytest.mark.parametrize("tokens", ["auto", "required", "off"])
def test_tokens(host, served, tokens):  # noqa: F811
    """One word in the domain's line, and vreadd has it.  It outlives a reboot of the domain."""
    (image, _), _ = served[0]["dn1"], served[1]["odd"]
    files = f"[vreadd]\ndatanode-files = {host.files}\n"
    with Vreadd({}, variant="asan", sections=files) as vreadd:
        host.use(vreadd.status()["config"])
        host.add_disk("xvda", f"aio:{image}", kind="qdisk")
        assert host.create(f"{LINE}, tokens={tokens}").returncode == 0
        assert host.file() == [*section(f"raw:{image}"), f"tokens = {tokens}"]
        assert host.record()[0].endswith(f",disks=xvda,tokens={tokens}")
        (datanode,) = vreadd.status()["datanodes"]
        assert datanode["tokens"]["mode"] == tokens
        assert datanode["tokens"]["required"] is (tokens == "required")
        assert host.create().returncode == 0
        assert host.file() == section(f"raw:{image}")
        (datanode,) = vreadd.status()["datanodes"]
        assert datanode["tokens"]["mode"] == "auto"


# ---- its disks


IMAGES = [
    ("vbd", "/dev/vg0/dn1", {}, "raw:/dev/vg0/dn1"),
    ("vbd", "/srv/dn1.img", {"physical_device_path": "/dev/loop3"}, "raw:/srv/dn1.img"),
    ("vbd", "r0", {"physical_device_path": "/dev/drbd0"}, "raw:/dev/drbd0"),
    ("vbd", "/dev/disk/by-path/pci-0:1", {}, "raw:/dev/disk/by-path/pci-0:1"),
    ("qdisk", "aio:/srv/dn1.img", {}, "raw:/srv/dn1.img"),
    ("qdisk", "raw:/srv/dn1.img", {}, "raw:/srv/dn1.img"),
    ("qdisk", "qcow2:/srv/a:b.qcow2", {}, "qcow2:/srv/a:b.qcow2"),
    ("qdisk", "vhd:/srv/dn1.vhd", {}, "vhd:/srv/dn1.vhd"),
    ("vbd3", "x", {"tapdisk_params": "vhd:/srv/dn1.vhd"}, "vhd:/srv/dn1.vhd"),
]


@pytest.mark.parametrize("kind, params, nodes, image", IMAGES)
def test_images(host, daemon, kind, params, nodes, image):
    host.add_disk("xvdb", params, kind=kind, **nodes)
    done = host.create()
    assert (done.returncode, done.stderr) == (0, NOW)
    assert host.file() == section(image)
    assert daemon.requests == [b'{"command":"reload"}\n']


ODD = (
    "blanks, ';' and control characters are not allowed in vreadd's configuration: "
    "rename it, or make"
)
NO_PATH = "expected a file or a block device of this host, by its path"
BAD_DISKS = [
    ("qdisk", "qed:/srv/x", "'qed:/srv/x': vreadd does not read disks of this format"),
    ("qdisk", "aio:nbd:host:1", f"'aio:nbd:host:1': {NO_PATH}"),
    ("qdisk", "/srv/x", "'/srv/x': expected FORMAT:PATH"),
    ("vbd", "iqn.2026:x", f"'iqn.2026:x': {NO_PATH}"),
    ("vbd", "/srv/a\n[datanode dn2]", f"'/srv/a\n[datanode dn2]': {ODD}"),
    ("vbd", "/srv/a ;b", f"'/srv/a ;b': {ODD}"),
    ("vbd", "/srv/a;b", f"'/srv/a;b': {ODD}"),
    ("qdisk", "qcow2: /srv/a", f"'qcow2: /srv/a': {NO_PATH}"),
]


@pytest.mark.parametrize("kind, params, text", BAD_DISKS)
def test_disks_that_cannot_be_served(host, daemon, kind, params, text):
    host.add_disk("xvda", "/dev/vg0/system")
    host.add_disk("xvdb", params, kind=kind)
    done = host.create()
    assert done.returncode == 1
    assert f"xl-vread create: domain web: disk xvdb: {text}" in done.stderr
    assert done.stderr.endswith("xl-vread create: domain web was destroyed again\n")
    assert host.xl_calls()[-1] == f"destroy {DOMID}"
    assert (host.file(), host.record(), daemon.requests) == (None, None, [])


def test_a_path_that_is_too_long(host, daemon):
    path = "/srv/" + "x" * 190
    host.add_disk("xvdb", path)
    done = host.create()
    assert f"raw:{path}: a line of vread.conf(5) has at most 197 bytes" in done.stderr
    assert host.file() is None


def test_which_disks(host, daemon):
    """By default, the disks that the guest may write to must be served; else the named disks, in
    that order."""
    host.add_disk("xvda", "/a", mode="r")
    host.add_disk("xvdb", "/b")
    host.add_disk("xvdc", "qcow2:/c", kind="qdisk")
    host.add_disk("xvdd", "", kind="qdisk", device_type="cdrom")
    host.store.put(f"/local/domain/{DOMID}/device/vbd/51712/params", "/etc/shadow")
    assert host.create().returncode == 0
    assert host.file() == section("raw:/b", "qcow2:/c")
    assert host.record()[0].endswith(",data-dirs=/dfs/data,disks=xvdb xvdc")
    assert host.create(f"{LINE} /two, disks=xvdc xvda").returncode == 0
    assert host.file() == section("qcow2:/c", "raw:/a", dirs="/dfs/data /two")


def test_a_disk_that_is_not_there(host, daemon):
    host.add_disk("xvdb", "/b")
    done = host.create(f"{LINE},disks=xvdb xvdc")
    assert (
        "domain web: disk xvdc: dom0 serves no disk of that name; see xl block-list" in done.stderr
    )
    assert (done.returncode, host.file()) == (1, None)


def test_no_disk_at_all(host, daemon):
    host.add_disk("xvda", "/a", mode="r")
    done = host.create()
    assert "domain web: data-dirs: expected a disk that it may write to and dom0" in done.stderr


# ---- directories nobody named


@pytest.fixture
def provision(host, served):
    """The layout that a fake vread-provision finds; without the file it finds nothing."""
    layout = host.folder / "found.json"
    layout.write_text(served[0]["dn1"][1].read_text())
    script = host.folder / "bin" / "vread-provision"
    script.write_text(f'#!/bin/sh\necho "$@" >&2\n[ -e {layout} ] || exit 65\ncp {layout} "$2"\n')
    script.chmod(0o755)
    return layout


AUTO = LINE.replace("/dfs/data", "auto")


def test_directories_that_are_found(host, daemon, provision):
    host.add_disk("xvdb", "qcow2:/b", kind="qdisk")
    host.add_disk("xvdc", "/c")
    done = host.create(AUTO)
    assert done.returncode == 0
    assert done.stderr.endswith(f"/layout.json raw:/c qcow2:/b\n{NOW}")
    assert host.file() == section("raw:/c", "qcow2:/b")
    assert "data-dirs=/dfs/data," in host.record()[0]  # so it need not look again


def test_folders_of_backing_files(host, daemon, provision):
    """The search, the section and the record have them."""
    host.add_disk("xvdb", "qcow2:/b", kind="qdisk")
    done = host.create(f"{AUTO},backing-folders=/srv/bases /opt")
    assert done.returncode == 0
    searched = "/layout.json --backing-folder /srv/bases --backing-folder /opt qcow2:/b\n"
    assert done.stderr.endswith(searched + NOW)
    assert host.file() == section("qcow2:/b", folders="/srv/bases /opt")
    assert host.record()[0].endswith(",disks=xvdb,backing-folders=/srv/bases /opt")


@pytest.mark.appliance
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_directories_that_libguestfs_finds(host, daemon, served):
    image = served[0]["dn1"][0]
    host.add_disk("xvdb", str(image))
    path = f"{host.folder / 'bin'}:{BUILD / 'asan'}:{os.environ['PATH']}"
    done = host.create(AUTO, PATH=path)
    assert (done.returncode, host.file()) == (0, section(f"raw:{image}")), done.stderr
    assert done.stderr  # messages of progress


def test_nothing_is_found(host, daemon, provision):
    provision.unlink()
    host.add_disk("xvdb", "/b")
    done = host.create(AUTO)
    assert (
        "data-dirs=auto: vread-provision failed: exit code 65; name them in the domain's "
        "configuration: data-dirs=/dfs/data\n"
    ) in done.stderr
    assert (done.returncode, host.file()) == (1, None)


def test_a_directory_with_a_hostile_name(host, daemon, provision):
    """The guest chose a directory name that vread.conf cannot hold.  create must refuse it."""
    text = provision.read_text().replace('"/dfs/data"', '"/dfs ;x"')
    provision.write_text(text)
    host.add_disk("xvdb", "/b")
    done = host.create(AUTO)
    assert (
        "xl-vread create: the disks have a data directory '/dfs ;x', a name that is not allowed"
        in done.stderr
    )
    assert (done.returncode, host.file()) == (1, None)


# ---- mistakes, and vreadds that do not take it


WRONG = [
    ("datanodes=dn1,data-dirs=/a", "data-dirs: expected role=datanode and one name in datanodes="),
    (LINE.replace("dn1", "dn1 dn2"), "data-dirs: expected role=datanode and one name in"),
    (LINE.replace("dn1", "*"), "data-dirs: expected role=datanode and one name in datanodes="),
    (LINE.replace("dn1", ".."), "data-dirs: expected role=datanode and one name in datanodes="),
    (LINE.replace("dn1", "a]b"), "data-dirs: expected role=datanode and one name in datanodes="),
    (LINE.replace("/dfs/data", ""), "data-dirs: expected a value"),
    (f"{LINE},disks=", "disks: expected a value"),
    (LINE.replace("/dfs/data", "data"), "data-dirs: 'data': expected paths inside the disks'"),
    (LINE.replace("/dfs/data", "/a auto"), "data-dirs: 'auto': expected paths inside the disks'"),
    (LINE.replace("/dfs/data", "/a/../b"), "data-dirs: '/a/../b': expected paths inside the"),
    (LINE.replace("/dfs/data", "/a;b"), "data-dirs: '/a;b': expected paths inside the disks'"),
    (LINE + "x" * 180, "data-dirs: expected at most 180 characters; more fit into a layout"),
    (f"{LINE},disks=../x", "disks: '../x': expected names as in the domain's disk = [ ... ]"),
    ("datanodes=dn1,disks=xvdb", "disks: expected data-dirs, too"),
    ("datanodes=dn1,backing-folders=/srv", "backing-folders: expected data-dirs, too"),
    (f"{LINE},backing-folders=", "backing-folders: expected 1 to 170 characters"),
    (f"{LINE},backing-folders=/{'x' * 170}", "backing-folders: expected 1 to 170 characters"),
    (f"{LINE},backing-folders=/srv /", "backing-folders: '/': expected paths of dom0 that"),
    (f"{LINE},backing-folders=srv", "backing-folders: 'srv': expected paths of dom0 that"),
    (f"{LINE},backing-folders=/a/../b", "backing-folders: '/a/../b': expected paths of dom0"),
    (f"{LINE},backing-folders=/a;b", "backing-folders: '/a;b': expected paths of dom0 that"),
    (f"{LINE},tokens=yes", "tokens=yes: expected auto, required or off"),
    (f"{LINE},tokens=", "tokens=: expected auto, required or off"),
    (f"{LINE},tokens=off,tokens=off", "tokens: given twice"),
    ("role=datanode,datanodes=dn1,tokens=required", "tokens: expected data-dirs, too; a datanode"),
]


@pytest.mark.parametrize("entry, text", WRONG)
def test_mistakes(host, entry, text):
    done = host.create(entry)
    assert (done.returncode, host.xl_calls()) == (1, [])
    assert f"vread[0] '{entry}': {text}" in done.stderr


@pytest.mark.parametrize("command", ["create", "check"])
def test_a_datanode_that_is_in_vread_conf_too(host, command):
    host.configure("[datanode dn1]\nimage = /x\ndata-dirs = /a\n")
    done = host.run(command, host.config(f'vread = [ "{LINE}" ]'))
    assert (done.returncode, host.xl_calls()) == (1, [])
    assert done.stderr == (
        f"xl-vread {command}: {host.vread_conf}:4: [datanode dn1] exists already: "
        "remove it, or data-dirs from the domain's configuration\n"
    )


def test_a_vread_conf_that_is_wrong(host):
    host.configure("[local]\nmode = 7\n")
    done = host.create()
    assert (done.returncode, host.xl_calls()) == (1, [])
    assert f"{host.vread_conf}:5: [local] mode: 7: expected four octal digits" in done.stderr
    assert (
        f"{host.vread_conf}: correct the mistakes first: the disks of datanodes add" in done.stderr
    )


def test_no_folder_for_them(host):
    host.vread_conf.write_text("[vreadd]\ndatanode-files =\n")
    done = host.create()
    assert (done.returncode, host.xl_calls()) == (1, [])
    assert f"{host.vread_conf}: datanode-files is empty: expected the folder" in done.stderr


def test_without_vreadd_it_is_written_all_the_same(host):
    host.add_disk("xvdb", "/b")
    done = host.create()
    assert done.returncode == 0
    assert done.stderr.endswith(f"; vreadd reads the datanode's disks when it starts\n{NOW}")
    assert host.file() == section("raw:/b")
    assert host.xl_calls()[-1] == f"unpause {DOMID}"


PROBLEM = {"file": "/etc/vread/vread.conf", "line": 7, "problem": "expected yes or no"}
REFUSED = json.dumps({"result": "refused", "problems": [PROBLEM]}).encode()


def test_a_vreadd_that_refuses(host, daemon):
    daemon.answers = [REFUSED]
    host.add_disk("xvdb", "/b")
    done = host.create()
    assert (
        "vreadd refuses its configuration: /etc/vread/vread.conf:7: expected yes or no\n"
        in done.stderr
    )
    assert (done.returncode, host.file(), host.record()) == (1, None, None)
    assert host.xl_calls()[-1] == f"destroy {DOMID}"


def test_a_file_that_somebody_else_wrote(host, daemon):
    host.files.mkdir()
    text = "[datanode dn1]\nimage = /mine\ndata-dirs = /a\n"
    (host.files / "dn1.conf").write_text(text)
    host.add_disk("xvdb", "/b")
    done = host.create()
    assert f"{host.files}/dn1.conf: was not written by xl-vread: remove it, or" in done.stderr
    assert (host.files / "dn1.conf").read_text() == text


def test_a_datanode_that_another_domain_is(host, daemon):
    host.add_disk("xvdb", "/b")
    host.files.mkdir()
    text = "\n".join(section("raw:/x", uuid=OTHER)) + "\n"
    (host.files / "dn1.conf").write_text(text)
    host.add_domain(12, name="first", uuid=OTHER)
    done = host.create()
    assert (
        "datanode dn1: domain first (12) has this name already: each datanode needs its own"
        in done.stderr
    )
    assert (done.returncode, host.file()) == (1, text.splitlines())
    host.store.remove("/local/domain/12")
    assert host.create().returncode == 0  # the other domain is gone, this one takes its place
    assert host.file() == section("raw:/b")


def test_a_domain_that_is_no_datanode_any_more(host, daemon):
    host.add_disk("xvdb", "/b")
    assert host.create().returncode == 0
    done = host.create("datanodes=dn1")
    assert (done.returncode, done.stderr) == (0, "datanode dn1: is domain web no longer\n")
    assert host.file() is None
    assert len(daemon.requests) == 2


def test_what_attach_cannot_do_leaves_nothing(host, daemon):
    host.add_domain()
    host.add_disk("xvdb", "/b")
    host.store.put(f"/local/domain/0/backend/vread/{DOMID}/0/state", "4")
    done = host.run("attach", "web", LINE)
    assert (done.returncode, host.file(), host.record()) == (1, None, None)
    assert "has device 0 already" in done.stderr
    assert host.run("attach", "web", f"{LINE},id=1").returncode == 0
    assert host.file() == section("raw:/b")


# ---- being told


def test_check(host):
    done = host.run("check", host.config(f'vread = [ "{LINE}", "{LINE},disks=xvdb" ]'))
    assert done.stdout.splitlines() == [
        "web: 2 vread devices",
        "  0: datanode, datanodes dn1, pools *, publishes for dn1",
        "     data directories /dfs/data, on disks it may write to",
        "  1: datanode, datanodes dn1, pools *, publishes for dn1",
        "     data directories /dfs/data, on disks xvdb",
    ]


def test_list(host, daemon):
    host.add_disk("xvdb", "/b")
    host.create()
    tail = host.run("list").stdout.splitlines()[-2:]
    assert tail == [
        "Datanode                 Domain                   Disks",
        "dn1                      web                      raw:/b",
    ]
    host.store.remove(f"/local/domain/{DOMID}")
    assert host.run("list").stdout.splitlines()[-1].split() == ["dn1", "(not", "running)", "raw:/b"]


# ---- the service


@pytest.fixture
def watch(host, daemon):
    """Starts `xl-vread watch` after the domain was created: during `create`, watch might make the
    device first."""
    host.add_disk("xvdb", "/b")
    host.add_disk("xvdc", "/c")
    assert host.create().returncode == 0
    with watching(host) as process:
        yield process


def test_a_domain_that_comes_back_with_other_disks(host, daemon, watch):
    """The new disks must be served when all of them exist, not before."""
    host.store.remove(f"/local/domain/{DOMID}")
    host.add_domain(12)
    host.store.put("@introduceDomain", "")
    assert watch.stdout.readline() == "domain web (12): 1 device made\n"
    host.add_disk("xvdb", "/b2", domid=12)
    assert host.file() == section("raw:/b", "raw:/c")
    host.add_disk("xvdc", "qcow2:/c", kind="qdisk", domid=12)
    eventually(lambda: len(daemon.requests) == 2)
    assert host.file() == section("raw:/b2", "qcow2:/c")


def test_what_vreadd_refuses_is_put_back(host, daemon, watch):
    daemon.answers = [REFUSED]
    host.add_disk("xvdb", "/b2")
    eventually(lambda: len(daemon.requests) >= 2)  # watch tries at each change of a disk
    eventually(lambda: host.file() == section("raw:/b", "raw:/c"))


def test_a_domain_that_comes_back_as_it_was(host, daemon, watch):
    host.store.remove(f"/local/domain/{DOMID}")
    host.add_domain(12)
    host.add_disk("xvdb", "/b", domid=12)
    host.add_disk("xvdc", "/c", domid=12)
    host.store.put("@introduceDomain", "")
    assert watch.stdout.readline() == "domain web (12): 1 device made\n"
    assert len(daemon.requests) == 1
