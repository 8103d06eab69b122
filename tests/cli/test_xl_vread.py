# SPDX-License-Identifier: GPL-2.0-or-later
"""xl-vread create, check, attach, detach, list and watch: how they call xl, what they write to
xenstore and to records, and how they report mistakes.

xl is a script here, which logs its calls and makes the domain's nodes as libxl would.
tests/xen/shared/test_xl_vread.py uses the real xl.
"""

import contextlib
import os
import signal
import socket
import subprocess

import pytest

from tests.cli.conftest import clean_environment
from tests.libvread.conftest import BUILD

XL_VREAD = BUILD / "asan/xl-vread"
UUID = "6d5b9a4e-0f2f-4b5c-9d7e-2f1a3b4c5d6e"
DOMID = 9
BACK = f"/local/domain/0/backend/vread/{DOMID}"
FRONT = f"/local/domain/{DOMID}/device/vread"
XL = f"""#!/bin/sh
echo "$*" >>"$XL_LOG"
case $1 in
create)
    [ -z "$XL_FAILS" ] || exit 3
    [ -z "$XL_MAKES_NO_NODES" ] || exit 0
    xenstore-write /local/domain/{DOMID}/name web /local/domain/{DOMID}/vm /vm/{UUID} ;;
destroy)
    xenstore-rm /local/domain/{DOMID} ;;
esac
"""


class Host:
    def __init__(self, folder, store):
        self.folder, self.store = folder, store
        self.records = folder / "domains"
        script = folder / "bin" / "xl"
        script.parent.mkdir()
        script.write_text(XL)
        script.chmod(0o755)
        self.environment = clean_environment() | {
            "PATH": f"{script.parent}:{os.environ['PATH']}",
            "XENSTORED_PATH": store.path,
            "VREAD_DOMAINS": str(self.records),
            "VREAD_DOMAIN_FILES": str(folder / "domains.d"),
            "VREAD_CONFIG": str(folder / "vread.conf"),
            "XL_LOG": str(folder / "xl.log"),
        }

    def run(self, *words, **environment):
        return subprocess.run(
            [XL_VREAD, *map(str, words)],
            capture_output=True,
            text=True,
            env=self.environment | environment,
            timeout=600,
        )

    def config(self, *lines, name="web"):
        path = self.folder / "web.cfg"
        path.write_text("".join(f"{line}\n" for line in (f'name = "{name}"', *lines)))
        return path

    def xl_calls(self):
        log = self.folder / "xl.log"
        return log.read_text().splitlines() if log.exists() else []

    def record(self):
        path = self.records / UUID
        return path.read_text().splitlines()[1:] if path.exists() else None

    def add_domain(self, domid=DOMID, name="web", uuid=UUID):
        for node, value in (("name", name), ("vm", f"/vm/{uuid}"), ("device", "")):
            self.store.put(f"/local/domain/{domid}/{node}", value)

    def keep(self, *devices, uuid=UUID):
        self.records.mkdir(exist_ok=True)
        (self.records / uuid).write_text("".join(f"{device}\n" for device in devices))


@pytest.fixture
def host(tmp_path, xenstored):
    return Host(tmp_path, xenstored)


# ---- create


def test_create(host):
    config = host.config(
        'vread = [ "datanodes=dn1 dn2,unnamed-datanodes=*", '
        '"role=datanode,datanodes=dn3,pools=BP-1" ]'
    )
    done = host.run("create", config)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert host.xl_calls() == [f"create -p {config}", f"unpause {DOMID}"]
    value = host.store.value
    assert value(f"{BACK}/0/role") == "client"
    assert value(f"{BACK}/0/allow-datanodes") == "dn1 dn2"
    assert value(f"{BACK}/0/allow-pools") == "*"
    assert value(f"{BACK}/0/unnamed-datanodes") == "*"
    assert value(f"{BACK}/1/role") == "datanode"
    assert value(f"{BACK}/1/allow-pools") == "BP-1"
    assert value(f"{BACK}/1/publish-datanodes") == "dn3"
    assert value(f"{FRONT}/1/backend") == f"{BACK}/1"
    assert host.record() == [
        "id=0,role=client,datanodes=dn1 dn2,pools=*,unnamed-datanodes=*",
        "id=1,role=datanode,datanodes=dn3,pools=BP-1,publish-datanodes=dn3",
    ]


def test_what_is_on_the_command_line_counts_more(host):
    config = host.config('vread = [ "datanodes=dn1" ]', name="other")
    lines = ['name="web"', 'vread=["datanodes=dn7"]']
    done = host.run("create", "--paused", config, *lines, "--", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert host.xl_calls() == [f"create -p -q {config} {' '.join(lines)}"]
    assert host.store.value(f"{BACK}/0/allow-datanodes") == "dn7"


def test_a_domain_without_vread_is_made_as_xl_would(host):
    host.keep("datanodes=dn1")  # a record of an earlier configuration
    assert host.run("create", host.config("memory = 256")).returncode == 0
    assert host.xl_calls()[-1] == f"unpause {DOMID}"
    assert host.record() is None
    assert host.store.value(f"{BACK}/0/state") is None


def test_what_xl_cannot_create(host):
    done = host.run("create", host.config('vread = [ "datanodes=dn1" ]'), XL_FAILS="1")
    assert (done.returncode, done.stderr) == (
        1,
        "xl-vread create: xl create failed: exit code 3\n",
    )
    assert host.record() is None


def test_a_domain_that_is_not_in_xenstore_is_ended(host):
    """xl leaves the domain paused: nobody would let it run."""
    config = host.config('vread = [ "datanodes=dn1" ]')
    done = host.run("create", config, XL_MAKES_NO_NODES="1")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "xl-vread create: domain web: no such domain (see xl list)",
        "xl-vread create: domain web was destroyed again",
    ]
    assert host.xl_calls() == [f"create -p {config}", "destroy web"]


def test_a_domain_that_cannot_have_its_devices_is_ended(host):
    (host.folder / "file").touch()
    config = host.config('vread = [ "datanodes=dn1" ]')
    done = host.run("create", config, VREAD_DOMAINS=str(host.folder / "file"))
    assert done.returncode == 1
    assert "cannot lock: Not a directory" in done.stderr
    assert done.stderr.endswith("xl-vread create: domain web was destroyed again\n")
    assert host.xl_calls()[-1] == f"destroy {DOMID}"


def made_by_watch(host, number, datanodes, **policy):
    """A device that `xl-vread watch` has made before create comes to it."""
    host.store.put(f"{FRONT}/{number}/state", "1")
    nodes = {"state": "1", "role": "client", "allow-datanodes": datanodes, "allow-pools": "*"}
    for node, value in (nodes | policy).items():
        host.store.put(f"{BACK}/{number}/{node}", value)


def test_watch_may_be_quicker(host):
    """`xl-vread watch` saw the new domain first and made a device; create must accept that."""
    made_by_watch(host, 0, "dn1", mark="kept")
    done = host.run("create", host.config('vread = [ "datanodes=dn1", "datanodes=dn2" ]'))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert host.xl_calls()[1:] == [f"unpause {DOMID}"]
    assert host.store.value(f"{BACK}/0/mark") == "kept"
    assert host.store.value(f"{BACK}/1/allow-datanodes") == "dn2"


@pytest.mark.parametrize(
    "earlier",
    [
        {"datanodes": "dn1 dn2"},
        {"datanodes": "dn1", "role": "datanode"},
        {"datanodes": "dn1", "allow-pools": "BP-1"},
        {"datanodes": "dn1", "publish-datanodes": "dn2"},
        {"datanodes": "dn1", "unnamed-datanodes": "dn2"},
        {"datanodes": "dn1", "limit-queues": "2"},
        {"datanodes": "dn1", "limit-pool-pages": "64"},
    ],
)
def test_watch_may_have_made_what_an_earlier_configuration_asked_for(host, earlier):
    """The domain's record is of an earlier life of this UUID.  Its rights must not stay."""
    made_by_watch(host, 0, **earlier)
    made_by_watch(host, 7, "dn3")
    done = host.run("create", host.config('vread = [ "datanodes=dn1" ]'))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    rights = ("role", "allow-datanodes", "allow-pools", "publish-datanodes", "unnamed-datanodes")
    limits = ("limit-queues", "limit-pool-pages")
    found = [host.store.value(f"{BACK}/0/{node}") for node in rights + limits]
    assert found == ["client", "dn1", "*", None, None, None, None]
    assert host.store.value(f"{BACK}/7/state") is None
    assert host.store.value(f"{FRONT}/7/state") is None


def test_no_xl(host):
    done = host.run("create", host.config(), PATH="/nonexistent")
    assert (done.returncode, done.stderr) == (
        1,
        "xl-vread create: xl: cannot run: No such file or directory\n",
    )


def test_who_waits_hears_of_a_device_that_does_not_connect(host):
    done = host.run("create", "--wait", "1", host.config('vread = [ "datanodes=dn1" ]'))
    assert done.returncode == 1
    assert done.stderr == (
        f"xl-vread create: {BACK}/0: not connected within 1 s (state 1); is vreadd running here"
        " and xen-vreadfront loaded in the guest?\n"
    )
    assert host.record()  # the domain exists, and may still connect


# ---- mistakes in a configuration


WRONG = [
    ("dn1", "'dn1': expected KEY=VALUE"),
    (
        "datanode=dn1",
        "datanode: expected role, datanodes, pools, publish-datanodes, unnamed-datanodes, queues, "
        "pool-size, data-dirs, disks, backing-folders, tokens or id",
    ),
    (
        "role=client",
        "expected datanodes=: names of vread.conf separated by one space, or *",
    ),
    ("datanodes=a,datanodes=b", "datanodes: given twice"),
    ("datanodes=a,role=server", "role=server: expected client or datanode"),
    ("datanodes=a,queues=9", "queues=9: expected a number from 1 to 8"),
    (
        "datanodes=a,pool-size=1T",
        "pool-size=1T: expected a size like 4M, from 64K to 128M, in pages of 4K",
    ),
    ("datanodes=a,id=256", "id=256: expected a number from 0 to 255"),
    ("datanodes=b,id=7", "id=7: another device has this id"),
    ("datanodes=b,publish-datanodes=b", "publish-datanodes: expected role=datanode"),
    (
        "role=datanode,datanodes=b c",
        "role=datanode, datanodes=b c: expected publish-datanodes=, the datanodes that run in this "
        "domain",
    ),
    (
        "role=datanode,datanodes=*",
        "role=datanode, datanodes=*: expected publish-datanodes=, the datanodes that run in this "
        "domain",
    ),
    (
        "role=datanode,datanodes=*,publish-datanodes=b  c",
        "publish-datanodes=b  c: names separated by exactly one space",
    ),
    (
        "datanodes=b,unnamed-datanodes=/",
        "unnamed-datanodes=/: names of printable ASCII without '/'",
    ),
]


@pytest.mark.parametrize("entry, text", WRONG)
@pytest.mark.parametrize("command", ["create", "check"])
def test_mistakes_are_found_before_there_is_a_domain(host, command, entry, text):
    config = host.config(f'vread = [ "datanodes=a,id=7", "{entry}" ]')
    done = host.run(command, config)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"xl-vread {command}: {config}: vread[1] '{entry}': {text}\n"
    assert host.xl_calls() == []


@pytest.mark.parametrize(
    "line, text",
    [
        ('vread = "datanodes=dn1"', 'vread: expected a list: vread = [ "..." ]'),
        ('vread = [ ["datanodes=a"] ]', "vread[0]: expected a string"),
    ],
)
def test_what_is_no_list_of_strings(host, line, text):
    config = host.config(line)
    done = host.run("check", config)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith(f"xl-vread check: {config}: {text}\n")


def test_a_list_vreadd_would_refuse(host):
    done = host.run("check", host.config('vread = [ "datanodes=a  b" ]'))
    assert done.returncode == 1
    assert "vread[0] 'datanodes=a  b': datanodes=a  b, pools=*: " in done.stderr


def test_too_many_devices(host):
    entries = ", ".join('"datanodes=a"' for _ in range(17))
    done = host.run("check", host.config(f"vread = [ {entries} ]"))
    assert done.returncode == 1
    assert "vread[16] 'datanodes=a': expected at most 16 devices" in done.stderr


def test_what_is_no_configuration(host):
    config = host.config("memory = = 3")
    done = host.run("check", config)
    assert done.returncode == 1
    assert f"{config}:2: config parsing error near" in done.stderr
    assert done.stderr.endswith(f"{config}: expected a configuration as in xl.cfg(5)\n")


def test_no_such_file(host):
    done = host.run("check", "/nonexistent.cfg")
    assert (done.returncode, done.stderr) == (
        1,
        "xl-vread check: /nonexistent.cfg: cannot open: No such file or directory\n",
    )


def test_no_name(host):
    path = host.folder / "unnamed.cfg"
    path.write_text("memory = 256\n")
    done = host.run("check", path)
    assert done.stderr == f"xl-vread check: {path}: name: expected the domain's name\n"


def test_limits(host):
    config = host.config('vread = [ "datanodes=dn1, queues=2, pool-size=4M" ]')
    assert host.run("create", config).returncode == 0
    assert host.store.value(f"{BACK}/0/limit-queues") == "2"
    assert host.store.value(f"{BACK}/0/limit-pool-pages") == "1024"
    # the record has the limits, too
    assert host.record() == ["id=0,role=client,datanodes=dn1,pools=*,queues=2,pool-size=4096K"]
    assert (
        "pools *, at most 2 queues, at most 1024 pool pages\n" in host.run("check", config).stdout
    )


def test_check_tells_what_it_understood(host):
    done = host.run("check", host.config('vread = [ "datanodes=dn1, id=3" ]'))
    assert (done.returncode, done.stdout) == (
        0,
        "web: 1 vread device\n  3: client, datanodes dn1, pools *\n",
    )


COMMAND_LINES = [
    (["create"], "expected a domain's configuration file"),
    (["create", "--", "-q"], "expected a domain's configuration file"),
    (["create", "a.cfg", "b.cfg"], "b.cfg: expected KEY=VALUE, or xl's options after --"),
    (["create", "--wait", "x", "a.cfg"], "--wait x: expected a number from 0 to 86400"),
    (["create", "-p", "--wait", "1", "a"], "--paused and --wait: expected only one of them"),
    (["attach", "web"], "expected a domain and a device as in vread"),
    (["detach"], "expected one domain, not 0 arguments"),
    (["detach", "--id", "256", "web"], "--id 256: expected a number from 0 to 255"),
    (["list", "x"], "x: unexpected argument"),
    (["watch", "x"], "x: unexpected argument"),
    (["pause"], "pause: no such command"),
]


@pytest.mark.parametrize("words, text", COMMAND_LINES)
def test_wrong_command_lines(host, words, text):
    done = host.run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr
    assert "Try 'xl-vread help" in done.stderr


def test_help(host):
    done = host.run("help")
    assert done.returncode == 0
    for name in (
        "create",
        "check",
        "attach",
        "detach",
        "list",
        "reboot",
        "restore",
        "migrate",
        "watch",
    ):
        assert f"\n  {name} " in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


# ---- domains that run


def test_attach_and_detach(host):
    host.add_domain()
    assert host.run("attach", "web", "datanodes=dn1").returncode == 0
    assert host.run("attach", DOMID, "role=datanode,datanodes=dn1").returncode == 0
    assert host.store.value(f"{BACK}/1/role") == "datanode"
    assert [line.split(",")[0] for line in host.record()] == ["id=0", "id=1"]
    assert host.run("detach", "web").returncode == 0
    assert host.store.value(f"{BACK}/0/role") is None
    assert host.record() == ["id=1,role=datanode,datanodes=dn1,pools=*,publish-datanodes=dn1"]
    assert host.run("detach", "--id", "1", "web").returncode == 0
    assert host.record() is None


def test_a_device_that_does_not_connect_in_time_stays(host):
    """attach --wait fails.  The device stays, and so must its record: it counts after a reboot."""
    host.add_domain()
    done = host.run("attach", "--wait", "1", "web", "datanodes=dn1")
    assert done.returncode == 1
    assert "not connected within 1 s" in done.stderr
    assert host.store.value(f"{BACK}/0/state") == "1"
    assert host.record() == ["id=0,role=client,datanodes=dn1,pools=*"]


def test_a_record_that_cannot_be_written(host):
    """A device without a record would be lost at the next reboot.  attach must leave none."""
    host.add_domain()
    (host.records / f"{UUID}.new").mkdir(parents=True)  # the name of a record that is being written
    done = host.run("attach", "web", "datanodes=dn1")
    assert done.returncode == 1
    assert f"{host.records / UUID}.new: cannot create: Is a directory" in done.stderr
    assert host.store.value(f"{BACK}/0/state") is None


def test_a_device_that_is_there_already(host):
    host.add_domain()
    host.store.put(f"{BACK}/0/state", "4")
    done = host.run("attach", "web", "datanodes=dn1")
    assert done.returncode == 1
    assert "has device 0 already; 'xl-vread detach 9 --id 0' removes it" in done.stderr
    assert host.record() is None


def test_no_such_domain(host):
    done = host.run("attach", "web", "datanodes=dn1")
    assert (done.returncode, done.stderr) == (
        1,
        "xl-vread attach: domain web: no such domain (see xl list)\n",
    )


def test_a_temporary_device(host):
    """attach --temporary leaves the domain's record as it is."""
    host.add_domain()
    host.keep("datanodes=dn1")
    assert host.run("attach", "--temporary", "web", "datanodes=dn2").returncode == 0
    assert host.store.value(f"{BACK}/0/allow-datanodes") == "dn2"
    assert (host.records / UUID).read_text() == "datanodes=dn1\n"


def test_list(host):
    host.add_domain()
    host.run("attach", "web", "datanodes=dn1 dn2")
    host.keep("datanodes=dn1 dn2", "id=5,datanodes=dn3")
    host.store.put(f"{BACK}/0/state", "4")
    assert host.run("list").stdout.splitlines() == [
        "Name                        ID Dev  Role     State         Datanodes",
        "web                          9   0  client   connected     dn1 dn2",
        "web                          9   5  client   missing       dn3",
    ]


# ---- the service


@contextlib.contextmanager
def watching(host):
    process = subprocess.Popen(
        [XL_VREAD, "watch"], env=host.environment, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def watch(host):
    with watching(host) as process:
        yield process


def test_a_domain_that_comes_back_gets_its_devices(host, watch):
    host.keep("datanodes=dn1", "role=datanode,datanodes=dn2")
    host.add_domain(12)
    host.store.put("@introduceDomain", "")
    assert watch.stdout.readline() == "domain web (12): 2 devices made\n"
    back = "/local/domain/0/backend/vread/12"
    assert host.store.value(f"{back}/1/allow-datanodes") == "dn2"
    host.store.put(f"{back}/0/state", "4")
    host.store.put("@introduceDomain", "")  # no device is missing
    host.add_domain(13)
    host.store.put("@introduceDomain", "")
    assert watch.stdout.readline() == "domain web (13): 2 devices made\n"
    assert host.store.value(f"{back}/0/state") == "4"


def test_those_that_are_there_have_their_devices_when_it_is_ready(host, tmp_path):
    """Domains that exist when watch starts must have their devices before it tells systemd that it
    is ready: systemd then starts the units ordered after it."""
    devices = 16  # as many as a domain may have
    host.keep(*(f"datanodes=dn{n}" for n in range(devices)))
    host.add_domain(12)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(str(tmp_path / "notify"))
        notified.settimeout(60)
        host.environment["NOTIFY_SOCKET"] = str(tmp_path / "notify")
        process = subprocess.Popen(
            [XL_VREAD, "watch"], env=host.environment, stdout=subprocess.PIPE, text=True
        )
        try:
            assert notified.recv(100) == b"READY=1"
            last = f"/local/domain/0/backend/vread/12/{devices - 1}/allow-datanodes"
            assert host.store.value(last) == f"dn{devices - 1}"
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
            process.stdout.close()


def test_another_domain_of_that_name_gets_nothing(host, watch):
    other = UUID.replace("6d", "aa")
    host.keep("datanodes=dn1")
    host.add_domain(12, uuid=other)
    host.add_domain(13, name="friend")
    host.store.put("@introduceDomain", "")
    assert watch.stdout.readline() == "domain friend (13): 1 device made\n"
    assert host.store.value("/local/domain/0/backend/vread/12/0/state") is None


def test_a_spoilt_record_keeps_nobody_else_from_his(host, watch):
    host.keep("datanodes=")
    host.add_domain(12)
    good = UUID.replace("6d", "bb")
    host.keep("datanodes=dn1", uuid=good)
    host.add_domain(13, name="good", uuid=good)
    host.store.put("@introduceDomain", "")
    assert watch.stdout.readline() == "domain good (13): 1 device made\n"


@pytest.mark.parametrize(
    "uuid", [f"../elsewhere/{'x' * 23}", f"{UUID[:-1]}g", UUID[:-1], UUID + "0"]
)
def test_what_is_no_uuid(host, watch, uuid):
    """A text that is not a UUID must lead to no record, even if a file of that name exists."""
    (host.folder / "elsewhere").mkdir()
    for name in (uuid, uuid[:36]):
        host.keep("datanodes=dn1", uuid=name)
    host.add_domain(12, uuid=uuid)
    good = UUID.replace("6d", "bb")
    host.keep("datanodes=dn1", uuid=good)
    host.add_domain(13, name="good", uuid=good)
    host.store.put("@introduceDomain", "")
    assert watch.stdout.readline() == "domain good (13): 1 device made\n"
    assert host.store.value("/local/domain/0/backend/vread/12/0/state") is None
