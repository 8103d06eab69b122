# SPDX-License-Identifier: GPL-2.0-or-later
"""xl-vread restore, reboot, migrate and receive: how they call xl, and what they do themselves.

xl is a script here; shared/test_life.py and pair/test_life.py in tests/xen use the real xl.
"""

import json
import struct
import subprocess

import pytest

from tests.cli.control_socket import ControlSocket
from tests.cli.test_xl_vread import BACK, DOMID, FRONT, UUID, XL_VREAD, Host
from tests.cli.xenstored import Xenstored

NEXT = DOMID + 1
XL = f"""#!/bin/sh
echo "$*" >>"$XL_LOG"
[ -z "$XL_FAILS" ] || exit 3
made() {{ xenstore-write /local/domain/$1/name web /local/domain/$1/vm /vm/{UUID}; }}
case $1 in
restore)
    [ "$3" != /dev/stdin ] || [ "$(cat $3)" = memory ] || exit 4
    [ -n "$XL_LOSES" ] || made {DOMID} ;;
reboot)
    xenstore-rm /local/domain/{DOMID}
    made {NEXT}
    xenstore-write @introduceDomain "" ;;
save)
    echo "memory" >"$4" ;;
destroy)
    xenstore-rm /local/domain/{DOMID} ;;
migrate)
    xenstore-rm /local/domain/{DOMID}
    XENSTORED_PATH=$OTHER_STORE made {NEXT} ;;
esac
"""
SHELL = """#!/bin/sh
# ssh to the other host: another store, another folder for records
[ "$1" = there ] || exit 255
shift
echo "$*" >>"$SSH_LOG"
export XENSTORED_PATH="$OTHER_STORE" VREAD_DOMAINS="$OTHER_DOMAINS"
exec sh -c "$*"
"""
DEVICE = "id=0,role=client,datanodes=dn1,pools=*"


class Life(Host):
    def __init__(self, folder, store, other):
        super().__init__(folder, store)
        self.other, self.ssh_log = other, folder / "ssh.log"
        self.records_there = folder / "there"
        self.shell = folder / "bin" / "shell"
        for path, text in ((folder / "bin" / "xl", XL), (self.shell, SHELL)):
            path.write_text(text)
            path.chmod(0o755)
        (folder / "bin" / "xl-vread").symlink_to(XL_VREAD)
        self.environment |= {
            "OTHER_STORE": other.path,
            "OTHER_DOMAINS": str(self.records_there),
            "SSH_LOG": str(self.ssh_log),
        }

    def saved(self, config=None, magic=b"Xen saved domain, xl format\n \0 \r"):
        """A file as `xl save` writes it."""
        path = self.folder / "saved"
        text = json.dumps(config or {"c_info": {"name": "web", "uuid": UUID}}).encode() + b"\0"
        header = struct.pack("=IIII", 0x01020304, 3, 0, 4 + len(text))
        path.write_bytes(magic + header + struct.pack("=I", len(text)) + text + b"\0" * 100)
        return path

    def record_there(self):
        path = self.records_there / UUID
        return path.read_text().splitlines()[1:] if path.exists() else None

    def migrate(self, *options, **environment):
        return self.run("migrate", "-s", self.shell, "web", "there", *options, **environment)

    def migrate_stopped(self, **environment):
        words = ("migrate", "--stop", "-s", self.shell, "web", "there")
        return self.run(*words, **environment)


@pytest.fixture
def host(tmp_path, xenstored):
    with Xenstored(tmp_path / "other") as other:
        other.put("/local/domain/0", "", ("n0",))
        yield Life(tmp_path, xenstored, other)


def said(done):
    return done.returncode, done.stdout, done.stderr


# ---- restore


def test_a_restored_domain_has_its_devices_before_it_runs(host):
    host.keep("datanodes=dn1")
    host.add_domain(DOMID + 3, name="other", uuid=UUID.replace("6d", "aa"))
    saved = host.saved()
    assert said(host.run("restore", saved, "--", "-e")) == (0, "", "")
    assert host.xl_calls() == [f"restore -p -e {saved}", f"unpause {DOMID}"]
    assert host.store.value(f"{BACK}/0/allow-datanodes") == "dn1"
    assert host.store.value(f"{FRONT}/0/backend") == f"{BACK}/0"


def test_a_domain_may_be_left_paused(host):
    host.keep("datanodes=dn1")
    assert said(host.run("restore", "-p", host.saved())) == (0, "", "")
    assert host.xl_calls() == [f"restore -p {host.saved()}"]
    assert host.store.value(f"{BACK}/0/state") == "1"


def test_a_domain_without_a_record_is_restored_all_the_same(host):
    assert said(host.run("restore", host.saved())) == (0, "", "")
    assert host.xl_calls()[-1] == f"unpause {DOMID}"


def test_a_domain_whose_record_is_spoilt_stays_paused(host):
    host.keep("datanodes=")
    done = host.run("restore", host.saved())
    assert done.returncode == 1
    assert done.stderr.endswith(f"xl-vread restore: domain web ({DOMID}) was left paused\n")
    assert host.xl_calls() == [f"restore -p {host.saved()}"]


DATANODE = "role=datanode,datanodes=dn1,data-dirs=/dfs/data,disks=xvdb"


def test_a_restored_datanode_has_its_keys_before_it_runs(host):
    host.keep(DATANODE)
    done = host.run("restore", host.saved())
    assert done.returncode == 0
    assert done.stderr.startswith(
        f"datanode dn1: its disks are those of domain web ({DOMID}) now\n"
    )
    assert host.store.value(f"{BACK}/0/datanode/disks") == "xvdb"
    assert host.xl_calls()[-1] == f"unpause {DOMID}"


@pytest.mark.parametrize(
    "wrong",
    [
        {"magic": b"Not saved domain, xl format\n \0 \r"},
        {"config": {"c_info": {"name": "web"}}},
        {"config": {"c_info": {"uuid": "../../etc/passwd"}}},
    ],
)
def test_what_is_no_saved_domain(host, wrong):
    path = host.saved(**wrong)
    text = f"xl-vread restore: {path}: expected a file of 'xl save' with the UUID of its domain\n"
    assert said(host.run("restore", path)) == (1, "", text)
    assert host.xl_calls() == []


def test_a_saved_file_that_ends_early(host):
    path = host.saved()
    path.write_bytes(path.read_bytes()[:60])
    assert host.run("restore", path).returncode == 1
    assert host.xl_calls() == []


def test_what_xl_cannot_restore(host):
    text = "xl-vread restore: xl restore failed: exit code 3\n"
    assert said(host.run("restore", host.saved(), XL_FAILS="1")) == (1, "", text)


def test_a_domain_that_is_not_there_after_all(host):
    done = host.run("restore", host.saved(), XL_LOSES="1")
    text = f"xl-vread restore: {host.saved()}: no domain of UUID {UUID} after xl restore\n"
    assert said(done) == (1, "", text)


# ---- reboot


def test_a_rebooted_domain_has_its_devices_again(host):
    host.add_domain()
    host.keep("datanodes=dn1")
    assert said(host.run("reboot", "web")) == (0, "", "")
    assert host.xl_calls() == [f"reboot {DOMID}"]
    back = f"/local/domain/0/backend/vread/{NEXT}/0"
    assert host.store.value(f"{back}/allow-datanodes") == "dn1"


def test_a_reboot_that_is_waited_for(host):
    host.add_domain()
    host.keep("datanodes=dn1")
    done = host.run("reboot", "--wait", "1", "web")
    assert done.returncode == 1
    assert f"backend/vread/{NEXT}/0: not connected within 1 s (state 1)" in done.stderr


# ---- migrate, and receive at its other end


def test_a_migrated_domain_has_its_devices_there(host):
    host.add_domain()
    host.keep("datanodes=dn1")
    assert said(host.migrate("--", "--debug")) == (0, "", "")
    assert host.ssh_log.read_text() == "xl-vread receive\n"
    assert host.xl_calls() == [
        f"migrate -p -s {host.shell} --debug {DOMID} there",
        f"unpause {NEXT}",
    ]
    back = f"/local/domain/0/backend/vread/{NEXT}/0"
    assert host.other.value(f"{back}/allow-datanodes") == "dn1"
    assert (host.record(), host.record_there()) == (None, [DEVICE])


def test_a_migrated_datanode_has_its_keys_there(host):
    host.add_domain()
    host.keep(DATANODE)
    assert host.migrate().returncode == 0
    assert host.other.value(f"/local/domain/0/backend/vread/{NEXT}/0/datanode/name") == "dn1"
    assert host.record() is None


def test_vreadd_is_told_that_a_datanode_has_left(host, tmp_path):
    host.add_domain()
    host.keep(DATANODE)
    path, config = tmp_path / "control.sock", tmp_path / "vread.conf"
    config.write_text(f"[vreadd]\ncontrol-socket = {path}\n")
    with ControlSocket(path, b"{}\n") as control:
        done = host.migrate(VREAD_CONFIG=str(config))
    assert done.returncode == 0
    assert json.loads(control.requests[-1]) == {"command": "leave", "datanode": "dn1"}


def test_what_xl_cannot_migrate_stays_as_it_is(host):
    host.add_domain()
    host.keep("datanodes=dn1")
    done = host.migrate(XL_FAILS="1")
    assert done.returncode == 1
    assert "xl-vread migrate: xl migrate failed: exit code 3\n" in done.stderr
    assert "domain web: xl-vread migrate ended before the domain arrived\n" in done.stderr
    assert (host.records / UUID).exists()
    assert host.record_there() is None


def test_a_host_without_vread(host):
    host.add_domain()
    done = host.run("migrate", "-s", host.shell, "web", "nowhere")
    text = "xl-vread migrate: nowhere: xl-vread receive did not answer there; nothing was moved\n"
    assert said(done) == (1, "", text)
    assert host.xl_calls() == []


def test_a_host_that_has_the_domain_already(host):
    host.add_domain()
    for node, value in (("name", "web"), ("vm", f"/vm/{UUID}")):
        host.other.put(f"/local/domain/5/{node}", value)
    done = host.migrate()
    assert f"xl-vread receive: domain web (5) of UUID {UUID} is here already\n" in done.stderr
    assert (done.returncode, host.xl_calls()) == (1, [])


def test_a_domain_that_is_stopped_to_be_moved(host):
    host.add_domain()
    host.keep("datanodes=dn1")
    done = host.migrate_stopped()
    assert said(done) == (0, "", "")
    assert sorted(host.xl_calls()[:2]) == ["restore -p /dev/stdin", f"save -p {DOMID} /dev/fd/3"]
    # The two copies of the domain must never both run.
    assert host.xl_calls()[2:] == [f"destroy {DOMID}", f"unpause {DOMID}"]
    assert host.other.value(f"{BACK}/0/allow-datanodes") == "dn1"
    assert (host.record(), host.record_there()) == (None, [DEVICE])


@pytest.mark.parametrize("how", [{"XL_LOSES": "1"}, {"XL_FAILS": "1"}])
def test_a_stopped_domain_that_does_not_arrive_runs_on(host, how):
    host.add_domain()
    host.keep("datanodes=dn1")
    done = host.migrate_stopped(**how)
    assert done.returncode == 1
    assert "xl-vread migrate: domain web keeps running here\n" in done.stderr
    assert host.xl_calls()[-1] == f"unpause {DOMID}"
    assert (host.records / UUID).exists()
    assert host.record_there() is None


RECEIVED = [
    (b"", "expected a domain's UUID on standard input; this is for xl-vread migrate"),
    (b"../../../../etc/passwd\nweb\n\n", "expected a domain's UUID on standard input"),
    (f"{UUID}\n".encode(), "expected a domain's name on standard input"),
    (
        f"{UUID}\nweb\n{DEVICE}\n".encode(),
        "domain web: the list of its devices did not arrive completely",
    ),
    (f"{UUID}\nweb\nrole=x\n\n".encode(), "'role=x': role=x: expected client or datanode"),
    (
        f"{UUID}\nweb\n{DEVICE}\n\n".encode(),
        "domain web: xl-vread migrate ended before the domain arrived",
    ),
    (f"{UUID}\nweb\n{DEVICE}\n\nmoved\n".encode(), f"no domain with UUID {UUID} arrived here"),
]


@pytest.mark.parametrize("sent, text", RECEIVED)
def test_what_receive_is_told(host, sent, text):
    done = subprocess.run(
        [XL_VREAD, "receive"], input=sent, capture_output=True, env=host.environment, timeout=60
    )
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"xl-vread receive: {text}")
    assert host.record() is None


COMMAND_LINES = [
    (["restore"], "expected a file that 'xl save' wrote"),
    (["restore", "a", "b"], "b: unexpected argument; options of xl follow --"),
    (["restore", "-p", "--wait", "1", "a"], "--paused and --wait: expected only one of them"),
    (["reboot"], "expected one domain, not 0 arguments"),
    (["reboot", "--wait", "x", "web"], "--wait x: expected"),
    (["migrate", "web"], "expected a domain and a host; options of xl follow --"),
    (["migrate", "web", "there", "x"], "expected a domain and a host; options of xl follow --"),
    (["migrate", "-s", "", "web", "there"], "-s: expected a command that is called like ssh"),
    (["migrate", "--stop", "a", "b", "--", "-C"], "--stop: expected no options of xl"),
    (["receive", "x"], "x: unexpected argument"),
]


@pytest.mark.parametrize("words, text", COMMAND_LINES)
def test_wrong_command_lines(host, words, text):
    done = host.run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr
