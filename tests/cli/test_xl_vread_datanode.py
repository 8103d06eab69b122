# SPDX-License-Identifier: GPL-2.0-or-later
"""xl-vread with domains that are datanodes: it must find their disks and write the datanode's keys,
which vreadd must serve.

xl is the script of test_xl_vread.py; the tests write the disks' backend directories as libxl would.
"""

import os

import pytest

from tests.cli.control_socket import ControlSocket
from tests.cli.test_xl_vread import DOMID, UUID, Host, watching
from tests.libvread import vreadlib
from tests.libvread.conftest import BUILD, lib  # noqa: F401
from tests.support.waiting import eventually
from tools.vreadd import Vreadd

LINE = "role=datanode,datanodes=dn1,data-dirs=/dfs/data"
ACCEPTED = "accepted: dn1"
APPLIED = b'{"result": "applied", "changes": [], "failed": [], "restart": []}\n'
RELOAD = b'{"command":"reload"}\n'
STATUS = b'{"command":"status"}\n'
KEYS = f"/local/domain/0/backend/vread/{DOMID}/0/datanode"
KEYS_OFF = "[xen] datanode-keys = no: expected yes, or vreadd serves no disks of domains"
STATUS_NODE = f"{KEYS}/status"
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

    def keys(self, domid=DOMID, device=0):
        """The keys that the device has, but for vreadd's status.  None: it has none."""
        directory = f"/local/domain/0/backend/vread/{domid}/{device}/datanode"
        nodes = self.store.nodes
        if directory not in nodes:
            return None
        below = {p.rpartition("/")[2]: n for p, n in nodes.items() if p.startswith(directory + "/")}
        return {key: node.value for key, node in below.items() if key != "status"}

    def destroy(self):
        """Does what libxl and vreadd do, without the domain's disks."""
        self.store.remove(f"/local/domain/{DOMID}")
        self.store.remove(f"/local/domain/0/backend/vread/{DOMID}")

    def create(self, line=LINE, **environment):
        return self.run("create", self.config(f'vread = [ "{line}" ]'), **environment)


def keys(disks, dirs="/dfs/data", name="dn1", **others):
    others = {key.replace("_", "-"): value for key, value in others.items()}
    return {"name": name, "data-dirs": dirs, "disks": disks} | others


class FakeVreadd(ControlSocket):
    """A vreadd that accepts every request and judges all keys in the same way."""

    def __init__(self, host, says="accepted: {name}"):
        super().__init__(host.folder / "socket", APPLIED)
        self.says = says  # what becomes of keys
        self.judged = []  # names
        self.seen = host.store.on_change
        host.store.on_change = self.see
        host.configure(control=host.folder / "socket")

    def see(self, store, path):
        if self.seen:
            self.seen(store, path)
        name = store.value(path)
        if path.endswith("/datanode/name") and name:
            self.judged.append(name)
            store.put(path.removesuffix("name") + "status", self.says.format(name=name))


@pytest.fixture
def host(tmp_path, xenstored):
    return DatanodeHost(tmp_path, xenstored)


@pytest.fixture
def daemon(host):
    with FakeVreadd(host) as daemon:
        yield daemon


@pytest.fixture
def real(host, monkeypatch):
    """A vreadd that follows the store."""
    monkeypatch.setenv("XENSTORED_PATH", host.store.path)
    files = f"[vreadd]\ndatanode-files = {host.files}\n"
    with Vreadd({}, variant="asan", sections=files, xen="yes") as vreadd:
        host.use(vreadd.status()["config"])
        yield vreadd


# ---- with a vreadd


def read(lib, vreadd, block):  # noqa: F811
    with (
        vreadlib.Connection(lib, vreadd.endpoint) as connection,
        connection.open(block.pool, block.id, block.genstamp) as f,
    ):
        return bytes(f.pread(block.length, 0))


def test_one_line_and_it_is_served(host, real, served, lib):  # noqa: F811
    (image, _), block = served[0]["dn1"], served[1]["odd"]
    host.add_disk("xvda", f"aio:{image}", kind="qdisk")
    done = host.create()
    assert (done.returncode, done.stderr) == (0, NOW)
    assert host.keys() == keys("xvda")
    assert host.store.value(STATUS_NODE) == ACCEPTED
    (datanode,) = real.status()["datanodes"]
    assert datanode["file"] == KEYS
    eventually(lambda: real.status()["datanodes"][0].get("filesystems"))
    assert read(lib, real, block) == block.content()
    assert host.record() == [
        f"id=0,role=datanode,datanodes=dn1,pools=*,publish-datanodes=dn1,{LINE[28:]},disks=xvda"
    ]
    assert host.run("xenstore", "check").stdout == "1 device, 0 problems\n"
    assert host.run("detach", "--force", "--wait", "0", "web").returncode == 0
    eventually(lambda: real.status()["datanodes"] == [])


def test_nobody_else_may_read_the_keys(host, daemon):
    host.add_disk("xvdb", "/b")
    host.create()
    perms = [node.perms for path, node in host.store.nodes.items() if path.startswith(KEYS)]
    assert len(perms) == 5 and set(perms) == {("n0",)}


@pytest.mark.parametrize("tokens", ["auto", "required", "off"])
def test_tokens(host, real, served, tokens):  # noqa: F811
    """One word in the domain's line, and vreadd has it.  It outlives a reboot of the domain."""
    (image, _), _ = served[0]["dn1"], served[1]["odd"]

    def mode():
        (datanode,) = real.status()["datanodes"]
        return datanode["tokens"]["mode"], datanode["tokens"]["required"]

    host.add_disk("xvda", f"aio:{image}", kind="qdisk")
    assert host.create(f"{LINE}, tokens={tokens}").returncode == 0
    assert host.keys() == keys("xvda", tokens=tokens)
    assert host.record()[0].endswith(f",disks=xvda,tokens={tokens}")
    assert mode() == (tokens, tokens == "required")
    host.destroy()
    eventually(lambda: real.status()["datanodes"] == [])
    assert host.create().returncode == 0
    assert host.keys() == keys("xvda")
    assert mode() == ("auto", False)


# ---- a file of vRead 0.1.0


def old_file(host, image, uuid=UUID):
    """Writes the file by which vRead 0.1.0 had the image served."""
    host.files.mkdir(exist_ok=True)
    path = host.files / "dn1.conf"
    path.write_text(
        f"# Disks of domain {uuid}, kept by xl-vread(8): what is changed here is lost.\n"
        f"[datanode dn1]\nimage = {image}\ndata-dirs = /dfs/data\n"
    )
    return path


def test_an_upgrade(host, real, served, lib, capfd):  # noqa: F811
    """The domain runs, with its device and the file.  watch starts: keys take the file's place, and
    blocks that are open are read on."""
    (image, _), block = served[0]["dn1"], served[1]["odd"]
    path = old_file(host, f"raw:{image}")
    assert real.ask("reload")["result"] == "applied"
    host.keep(f"{LINE},disks=xvda")
    host.add_domain()
    host.add_disk("xvda", f"aio:{image}", kind="qdisk")
    assert real.status()["datanodes"][0]["file"] == str(path)
    eventually(lambda: real.status()["datanodes"][0].get("filesystems"))
    with watching(host):
        eventually(lambda: not path.exists())
        eventually(lambda: host.store.value(STATUS_NODE) == ACCEPTED)
        assert real.status()["datanodes"][0]["file"] == KEYS
        assert read(lib, real, block) == block.content()
    assert f"{path}: removed: keys in xenstore take its place\n" in capfd.readouterr().err


@pytest.mark.parametrize("domain", ["this one", "one that is gone"])
def test_the_file_of_a_domain(host, daemon, domain):
    path = old_file(host, "raw:/x", uuid=UUID if domain == "this one" else OTHER)
    host.add_disk("xvdb", "/b")
    done = host.create()
    removed = f"{path}: removed: keys in xenstore take its place\n"
    assert (done.returncode, done.stderr) == (0, NOW + removed)
    assert (path.exists(), daemon.requests) == (False, [RELOAD, STATUS])


def test_the_file_of_another_domain(host, real):
    """vreadd refuses the keys, and xl-vread says so."""
    path = old_file(host, "raw:/x", uuid=OTHER)
    assert real.ask("reload")["result"] == "applied"
    host.add_domain(12, name="first", uuid=OTHER)
    host.add_disk("xvdb", "/b")
    done = host.create()
    assert (done.returncode, host.record()) == (1, None)
    assert (
        f"xl-vread create: datanode dn1: vreadd refuses domain web ({DOMID}): name: dn1 is in "
        f"{path} already: each datanode needs its own\n"
    ) in done.stderr
    assert path.exists()


def test_a_file_that_somebody_else_wrote(host, daemon):
    path = old_file(host, "raw:/x")
    text = path.read_text().partition("\n")[2]
    path.write_text(text)
    host.add_disk("xvdb", "/b")
    host.create()
    assert (path.read_text(), daemon.requests) == (text, [STATUS])


# ---- its disks


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
    assert (host.keys(), host.record(), daemon.requests) == (None, None, [])


def test_which_disks(host, daemon):
    """By default, the disks that the guest may write to must be served; else the named disks, in
    that order."""
    host.add_disk("xvda", "/a", mode="r")
    host.add_disk("xvdb", "/b")
    host.add_disk("xvdc", "qcow2:/c", kind="qdisk")
    host.add_disk("xvdd", "", kind="qdisk", device_type="cdrom")
    assert host.create().returncode == 0
    assert host.keys() == keys("xvdb xvdc")
    assert host.record()[0].endswith(",data-dirs=/dfs/data,disks=xvdb xvdc")
    host.destroy()
    assert host.create(f"{LINE} \t /two, disks=xvdc   xvda").returncode == 0
    assert host.keys() == keys("xvdc xvda", dirs="/dfs/data /two")


def test_a_disk_that_is_not_there(host, daemon):
    host.add_disk("xvdb", "/b")
    done = host.create(f"{LINE},disks=xvdb xvdc")
    assert (
        "domain web: disk xvdc: dom0 serves no disk of that name; see xl block-list" in done.stderr
    )
    assert (done.returncode, host.keys()) == (1, None)


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
    assert host.keys() == keys("xvdc xvdb")
    assert "data-dirs=/dfs/data," in host.record()[0]  # so it need not look again


def test_folders_of_backing_files(host, daemon, provision):
    """The search, the keys and the record have them."""
    host.add_disk("xvdb", "qcow2:/b", kind="qdisk")
    done = host.create(f"{AUTO},backing-folders=/srv/bases /opt")
    assert done.returncode == 0
    searched = "/layout.json --backing-folder /srv/bases --backing-folder /opt qcow2:/b\n"
    assert done.stderr.endswith(searched + NOW)
    assert host.keys() == keys("xvdb", backing_folders="/srv/bases /opt")
    assert host.record()[0].endswith(",disks=xvdb,backing-folders=/srv/bases /opt")


@pytest.mark.appliance
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_directories_that_libguestfs_finds(host, daemon, served):
    image = served[0]["dn1"][0]
    host.add_disk("xvdb", str(image))
    path = f"{host.folder / 'bin'}:{BUILD / 'asan'}:{os.environ['PATH']}"
    done = host.create(AUTO, PATH=path)
    assert (done.returncode, host.keys()) == (0, keys("xvdb")), done.stderr
    assert done.stderr  # messages of progress


def test_nothing_is_found(host, daemon, provision):
    provision.unlink()
    host.add_disk("xvdb", "/b")
    done = host.create(AUTO)
    assert (
        "data-dirs=auto: vread-provision failed: exit code 65; name them in the domain's "
        "configuration: data-dirs=/dfs/data\n"
    ) in done.stderr
    assert (done.returncode, host.keys()) == (1, None)


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
    assert (done.returncode, host.keys()) == (1, None)


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
    (
        LINE.replace("/dfs/data", "auto /a"),
        "data-dirs: 'auto /a': expected paths inside the disks'",
    ),
    (LINE.replace("/dfs/data", "/a/../b"), "data-dirs: '/a/../b': expected paths inside the"),
    (LINE.replace("/dfs/data", "/a;b"), "data-dirs: '/a;b': expected paths inside the disks'"),
    (LINE + "x" * 512, "data-dirs: expected at most 512 characters; more fit into a layout"),
    (f"{LINE},disks=../x", "disks: '../x': expected names as in the domain's disk = [ ... ]"),
    ("datanodes=dn1,disks=xvdb", "disks: expected data-dirs, too"),
    ("datanodes=dn1,backing-folders=/srv", "backing-folders: expected data-dirs, too"),
    (f"{LINE},backing-folders=", "backing-folders: expected 1 to 512 characters"),
    (f"{LINE},backing-folders=/{'x' * 512}", "backing-folders: expected 1 to 512 characters"),
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


def test_keys_that_vreadd_does_not_read(host):
    host.configure("[xen]\ndatanode-keys = no\n")
    done = host.create()
    assert (done.returncode, host.xl_calls()) == (1, [])
    assert f"xl-vread create: {host.vread_conf}: {KEYS_OFF}" in done.stderr


def test_without_vreadd_they_are_written_all_the_same(host):
    host.add_disk("xvdb", "/b")
    done = host.create()
    assert done.returncode == 0
    assert done.stderr.startswith(NOW)
    assert done.stderr.endswith("; vreadd reads the datanode's disks when it starts\n")
    assert host.keys() == keys("xvdb")
    assert host.xl_calls()[-1] == f"unpause {DOMID}"


def test_a_vreadd_that_refuses(host, daemon):
    daemon.says = "refused: tokens: yes: expected auto"
    host.add_disk("xvdb", "/b")
    done = host.create()
    said = f"xl-vread create: datanode dn1: vreadd refuses domain web ({DOMID}): tokens: yes: "
    assert said + "expected auto\n" in done.stderr
    assert (done.returncode, host.record()) == (1, None)
    assert host.xl_calls()[-1] == f"destroy {DOMID}"


def test_a_domain_does_not_run_before_vreadd_has_its_keys(host, real, served):  # noqa: F811
    host.add_disk("xvda", str(served[0]["dn1"][0]))
    xl = host.folder / "bin" / "xl"
    unpause = f'[ "$1" != unpause ] || xenstore-read {STATUS_NODE} >"$XL_LOG".status\n'
    xl.write_text(xl.read_text() + unpause)
    assert host.create().returncode == 0
    assert (host.folder / "xl.log.status").read_text() == f"{ACCEPTED}\n"


def test_a_domain_that_is_no_datanode_any_more(host, daemon):
    host.add_disk("xvdb", "/b")
    assert host.create().returncode == 0
    host.destroy()
    assert host.create("datanodes=dn1").returncode == 0
    assert (host.keys(), daemon.judged) == (None, ["dn1"])


def test_what_attach_cannot_do_leaves_nothing(host, daemon):
    host.add_domain()
    host.add_disk("xvdb", "/b")
    host.store.put(f"/local/domain/0/backend/vread/{DOMID}/0/state", "4")
    done = host.run("attach", "web", LINE)
    assert (done.returncode, host.keys(), host.record()) == (1, None, None)
    assert "has device 0 already" in done.stderr
    daemon.says = "refused: because"
    done = host.run("attach", "web", f"{LINE},id=1")
    assert (done.returncode, host.keys(device=1), host.record()) == (1, None, None)
    assert "datanode dn1: vreadd refuses domain web (9): because\n" in done.stderr
    daemon.says = ACCEPTED
    assert host.run("attach", "web", f"{LINE},id=1").returncode == 0
    assert host.keys(device=1) == keys("xvdb")


def test_detach_ends_it_before_the_device_is_closed(host, daemon):
    """The guest does not answer, so the device stays; its disks are no longer served."""
    host.add_disk("xvdb", "/b")
    assert host.create().returncode == 0
    host.store.put(f"/local/domain/0/backend/vread/{DOMID}/0/state", "4")
    assert host.run("detach", "--wait", "0", "web").returncode == 1
    assert host.store.value(f"/local/domain/0/backend/vread/{DOMID}/0/state") == "5"
    assert (host.keys(), host.record()) == (None, None)


def test_a_device_that_another_made(host, daemon):
    """A patched xl has made the device when create comes to it."""
    host.add_disk("xvdb", "/b")
    front, back = f"/local/domain/{DOMID}/device/vread/0", KEYS.removesuffix("/datanode")
    host.store.put(f"{front}/state", "1")
    for node in ("role", "datanode"), ("allow-datanodes", "dn1"), ("publish-datanodes", "dn1"):
        host.store.put("/".join((back, node[0])), node[1])
    assert host.create().returncode == 0
    assert (host.keys(), host.store.value(f"{back}/state")) == (keys("xvdb"), None)


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
    assert host.run("list").stdout.splitlines()[-2:] == [
        "Datanode                 Domain                   Disks",
        "dn1                      web                      raw:/b",
    ]


# ---- the service


@pytest.fixture
def watch(host, daemon):
    """Starts `xl-vread watch` after the domain was created: during `create`, watch might make the
    device first."""
    host.add_disk("xvdb", "/b")
    assert host.create().returncode == 0
    with watching(host) as process:
        yield process


def test_a_domain_that_comes_back(host, daemon, watch):
    """Its disks may come later: vreadd waits for them."""
    host.store.remove(f"/local/domain/{DOMID}")
    host.add_domain(12)
    host.store.put("@introduceDomain", "")
    assert watch.stdout.readline() == "domain web (12): 1 device made\n"
    assert host.keys(12) == keys("xvdb")
    assert (daemon.judged, daemon.requests) == (["dn1"] * 2, [STATUS])


def test_keys_that_are_there_are_not_written_again(host, daemon, watch):
    host.add_domain(12, name="other", uuid=OTHER)
    host.keep("datanodes=dn1", uuid=OTHER)
    host.store.put("@introduceDomain", "")
    assert watch.stdout.readline() == "domain other (12): 1 device made\n"
    assert daemon.judged == ["dn1"]


def test_keys_of_others_in_the_directory_stay(host, daemon, watch):
    host.store.put(f"{KEYS}/image-mode", "direct")
    host.keep(f"{LINE},disks=xvdb,tokens=off")
    host.store.put("@introduceDomain", "")
    eventually(lambda: host.keys() == keys("xvdb", tokens="off", image_mode="direct"))


def test_a_host_without_keys_gives_the_device_all_the_same(host, daemon, watch):
    host.configure("[xen]\ndatanode-keys = no\n")
    host.store.remove(f"/local/domain/{DOMID}")
    host.add_domain(12)
    host.store.put("@introduceDomain", "")
    assert watch.stdout.readline() == "domain web (12): 1 device made\n"
    assert host.keys(12) is None


def test_mistakes_in_vread_conf_keep_no_domain_waiting(host, daemon, watch):
    """vreadd runs with what it has read before."""
    host.configure("[local]\nmode = 7\n")
    host.store.remove(f"/local/domain/{DOMID}")
    host.add_domain(12)
    host.store.put("@introduceDomain", "")
    assert watch.stdout.readline() == "domain web (12): 1 device made\n"
    assert host.keys(12) == keys("xvdb")
