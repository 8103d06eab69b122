# SPDX-License-Identifier: GPL-2.0-or-later
"""xl-vread attach --temporary, detach and xenstore check.  attach and detach must write the nodes
that libxl would write, in one transaction; xenstore check must name every wrong node.  Records of
domains are tested by test_xl_vread.py."""

import json

import pytest

FRONT = "/local/domain/7/device/vread/0"
BACK = "/local/domain/0/backend/vread/7/0"
GUEST = ("n7", "r0")  # owned by the guest, readable by dom0
DOM0 = ("n0", "r7")


@pytest.fixture
def run(xl_vread, xenstored):
    def call(*words):
        return xl_vread(*words, env={"XENSTORED_PATH": xenstored.path})

    return call


@pytest.fixture
def attach(run):
    """attach(*options, device=, domain=): gives a domain a device.  The domain has neither a name
    nor a UUID, so it has no record."""

    def call(*options, device="datanodes=dn1", domain="7"):
        return run("attach", "--temporary", *options, domain, device)

    return call


def tree(store, root):
    """Values and permissions below a directory."""
    return {
        path[len(root) + 1 :]: (node.value, node.perms)
        for path, node in store.nodes.items()
        if path.startswith(root + "/")
    }


def test_attach(attach, xenstored):
    done = attach(device="datanodes=dn1 dn2")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert tree(xenstored, FRONT) == {
        "backend": (BACK, GUEST),
        "backend-id": ("0", GUEST),
        "state": ("1", GUEST),
    }
    assert tree(xenstored, BACK) == {
        "frontend": (FRONT, DOM0),
        "frontend-id": ("7", DOM0),
        "online": ("1", DOM0),
        "role": ("client", DOM0),
        "allow-datanodes": ("dn1 dn2", DOM0),
        "allow-pools": ("*", DOM0),
        "state": ("1", DOM0),
    }
    assert xenstored.nodes[FRONT].perms == GUEST
    assert xenstored.nodes[BACK].perms == DOM0
    # the guest must not own the directories above
    assert xenstored.nodes["/local/domain/7/device/vread"].perms == ("n0", "r7")
    assert xenstored.nodes["/local/domain/0/backend/vread/7"].perms == ("n0",)


def test_attach_with_everything(attach, xenstored):
    device = "id=3,role=datanode,datanodes=*,pools=BP-1,publish-datanodes=dn1 dn2"
    assert attach(device=device).returncode == 0
    back = BACK[:-1] + "3"
    assert xenstored.value(f"{back}/role") == "datanode"
    assert xenstored.value(f"{back}/allow-datanodes") == "*"
    assert xenstored.value(f"{back}/allow-pools") == "BP-1"
    assert xenstored.value(f"{back}/publish-datanodes") == "dn1 dn2"
    assert xenstored.value(FRONT[:-1] + "3/backend") == back


def test_attach_with_limits(attach, xenstored):
    assert attach(device="datanodes=dn1,queues=2,pool-size=4M").returncode == 0
    assert tree(xenstored, BACK)["limit-queues"] == ("2", DOM0)
    assert tree(xenstored, BACK)["limit-pool-pages"] == ("1024", DOM0)
    assert attach(device="datanodes=dn1,id=1,pool-size=65536").returncode == 0
    assert xenstored.value(f"{BACK[:-1]}1/limit-pool-pages") == "16"


@pytest.mark.parametrize(
    "key, value, expected",
    [
        ("queues", "0", "a number from 1 to 8"),
        ("queues", "9", "a number from 1 to 8"),
        ("pool-size", "4m", "a size like 4M, from 64K to 128M, in pages of 4K"),
        ("pool-size", "60K", "a size like 4M, from 64K to 128M, in pages of 4K"),
        ("pool-size", "129M", "a size like 4M, from 64K to 128M, in pages of 4K"),
        ("pool-size", "1048577", "a size like 4M, from 64K to 128M, in pages of 4K"),
    ],
)
def test_limits_that_are_none(attach, xenstored, key, value, expected):
    done = attach(device=f"datanodes=dn1,{key}={value}")
    assert done.returncode == 2
    assert f": {key}={value}: expected {expected}\n" in done.stderr.decode()
    assert BACK not in xenstored.nodes


def test_nothing_is_allowed_unless_said(attach, xenstored):
    done = attach(device="role=client")
    assert done.returncode == 2
    assert b"expected datanodes=: names of vread.conf" in done.stderr
    assert BACK not in xenstored.nodes


def test_disks_of_a_datanode_need_a_record(attach, xenstored):
    done = attach(device="role=datanode,datanodes=dn1,data-dirs=/dfs/data")
    assert done.returncode == 2
    assert b"data-dirs is not possible with --temporary" in done.stderr
    assert BACK not in xenstored.nodes


def test_nobody_sees_half_a_device(run, attach, xenstored):
    seen = []
    xenstored.on_change = lambda store, path: seen.append(
        (BACK in store.nodes, FRONT in store.nodes)
    )
    assert attach().returncode == 0
    assert set(seen) == {(True, True)}
    seen.clear()
    assert run("detach", "7").returncode == 0
    assert (True, False) not in seen and (False, True) not in seen


def test_transactions_are_repeated(attach, xenstored):
    xenstored.conflicts = 3
    assert attach().returncode == 0
    assert xenstored.conflicts == 0
    assert xenstored.value(f"{BACK}/state") == "1"


@pytest.mark.parametrize(
    "error, text",
    [
        ("ENOSPC", "No space left on device: a quota of xenstored is used up"),
        ("E2BIG", "Argument list too long: a value is longer than xenstored's quota allows"),
        ("EQUOTA", "Invalid argument; oxenstored: the domain's quota is used up"),
    ],
)
@pytest.mark.parametrize("change", [1, 2, 4, 7, 13])
def test_a_quota_that_is_used_up_leaves_nothing_half_made(attach, xenstored, change, error, text):
    before = dict(xenstored.nodes)
    xenstored.refusal = (change, error)
    done = attach()
    assert (done.returncode, xenstored.refusal) == (1, None)
    assert f"xl-vread attach: {BACK}: cannot create: {text}" in done.stderr.decode()
    assert xenstored.nodes == before
    assert attach().returncode == 0


def test_a_detach_that_is_refused_changes_nothing(run, attach, xenstored):
    assert attach().returncode == 0
    before = {path: node.value for path, node in xenstored.nodes.items()}
    xenstored.refusal = (2, "ENOSPC")
    done = run("detach", "7")
    assert done.returncode == 1
    assert "cannot close: No space left on device: a quota" in done.stderr.decode()
    assert {path: node.value for path, node in xenstored.nodes.items()} == before


def test_attach_twice(attach, xenstored):
    assert attach().returncode == 0
    xenstored.put(f"{BACK}/state", "4")
    done = attach(device="datanodes=*")
    assert done.returncode == 1
    assert b"has device 0 already; 'xl-vread detach 7 --id 0' removes it" in done.stderr
    assert xenstored.value(f"{BACK}/state") == "4"
    assert xenstored.value(f"{BACK}/allow-datanodes") == "dn1"
    assert attach(device="id=1,datanodes=dn1").returncode == 0


def test_no_such_domain(attach, xenstored):
    before = dict(xenstored.nodes)
    done = attach(domain="8")
    assert done.returncode == 1
    assert b"domain 8: no such domain" in done.stderr
    assert xenstored.nodes == before


def test_attach_and_wait(attach, xenstored):
    def backend(store, path):
        if store.value(f"{BACK}/state") == "1":
            store.put(f"{BACK}/state", "2")
            store.put(f"{BACK}/state", "4")

    xenstored.on_change = backend
    assert attach("--wait", "20").returncode == 0
    assert xenstored.value(f"{BACK}/state") == "4"


def test_attach_and_wait_in_vain(attach, xenstored):
    done = attach("--wait", "1")
    assert done.returncode == 1
    assert b"not connected within 1 s (state 1)" in done.stderr


def connected(attach, store):
    assert attach().returncode == 0
    store.put(f"{FRONT}/state", "4")
    store.put(f"{BACK}/state", "4")


def test_detach_of_a_connected_device(run, attach, xenstored):
    seen = []

    def backend(store, path):
        if path == f"{BACK}/state" and store.value(path) == "5":
            seen.append(store.value(f"{BACK}/online"))
            store.put(f"{BACK}/state", "6")

    connected(attach, xenstored)
    xenstored.on_change = backend
    done = run("detach", "7")
    assert (done.returncode, done.stderr) == (0, b"")
    assert seen == ["0"]
    assert not [path for path in xenstored.nodes if "vread" in path]
    assert "/local/domain/7/device" in xenstored.nodes


def test_detach_leaves_other_devices(run, attach, xenstored):
    assert attach().returncode == 0
    assert attach(device="id=1,datanodes=dn1").returncode == 0
    assert run("detach", "7").returncode == 0
    assert BACK not in xenstored.nodes and FRONT not in xenstored.nodes
    assert BACK[:-1] + "1" in xenstored.nodes and FRONT[:-1] + "1" in xenstored.nodes


def test_detach_when_the_backend_removes_it_itself(run, attach, xenstored):
    def backend(store, path):
        if path == f"{BACK}/state" and store.value(path) == "5":
            store.remove("/local/domain/0/backend/vread/7")

    connected(attach, xenstored)
    xenstored.on_change = backend
    assert run("detach", "7").returncode == 0
    assert not [path for path in xenstored.nodes if "vread/7" in path or "device/vread" in path]


def test_detach_of_a_stuck_backend(run, attach, xenstored):
    connected(attach, xenstored)
    done = run("detach", "7", "--wait", "1")
    assert done.returncode == 1
    assert b"not closed within 1 s; is vreadd running? --force removes" in done.stderr
    assert xenstored.value(f"{BACK}/online") == "0"
    assert run("detach", "7", "--wait", "0", "--force").returncode == 0
    assert BACK not in xenstored.nodes and FRONT not in xenstored.nodes


def test_detach_of_what_a_domain_left(run, attach, xenstored):
    assert attach().returncode == 0
    xenstored.remove("/local/domain/7")
    assert run("detach", "7", "--force", "--wait", "0").returncode == 0
    assert BACK not in xenstored.nodes


def test_detach_of_nothing(run, xenstored):
    done = run("detach", "7")
    assert done.returncode == 1
    assert b"domain 7 has no vread device 0" in done.stderr


@pytest.mark.parametrize("words", [["attach", "7", "datanodes=dn1"], ["detach", "7"]])
def test_no_xenstore(xl_vread, words, tmp_path):
    done = xl_vread(*words, env={"XENSTORED_PATH": str(tmp_path / "none")})
    assert done.returncode == 3
    assert b"xenstore: cannot connect" in done.stderr


# ---- xenstore check ------------------------------------------------------------------------


def test_a_fresh_device_has_no_problem(run, attach, xenstored):
    attach()
    done = run("xenstore", "check")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"1 device, 0 problems\n", b"")
    assert run("xenstore", "check", "7").returncode == 0


def test_every_wrong_node_is_named(run, attach, xenstored):
    attach()
    attach(device="id=1,datanodes=dn1")
    xenstored.put(f"{BACK}/online", "yes")
    xenstored.put(f"{BACK}/allow-datanodes", "dn1", ("n0", "b7"))
    xenstored.put(f"{FRONT}/colour", "red")
    xenstored.put(f"{BACK[:-1]}1/state", "2")
    done = run("xenstore", "check")
    assert done.returncode == 1
    lines = done.stdout.decode().splitlines()
    attach_anew = "    xl-vread detach 7 --id 0 --force, then attach it again with what it may read"
    for line, remedy in (
        (f'{BACK}/online: is "yes", expected a number from 0 to 1', attach_anew),
        (
            f"{BACK}/allow-datanodes: has permissions n0 b7, so domain 7 may read and write it,"
            " expected n0 r7",
            f"    xenstore-chmod {BACK}/allow-datanodes n0 r7",
        ),
        (
            f"{FRONT}/colour: is not known, expected only nodes of protocol version 1",
            f"    xenstore-rm {FRONT}/colour",
        ),
        (
            f"{BACK[:-1]}1/max-queues: is missing in state 2, expected a number from 1 to 8",
            "    systemctl restart vreadd",
        ),
    ):
        assert lines[lines.index(line) + 1] == remedy
    assert lines[-1] == "2 devices, 7 problems"


def set_permissions(store, path, *permissions):
    store.put(path, store.value(path), permissions)


# {mistake: (function that makes it, node that must be reported, found, expected)}
SPOILT = {
    "owner": (
        lambda store: set_permissions(store, f"{BACK}/role", "n7", "r0"),
        *(f"{BACK}/role", "has permissions n7 r0, so domain 7 owns it", "n0 r7"),
    ),
    "of the directory": (
        lambda store: set_permissions(store, BACK, "n0", "r7", "r9"),
        *(BACK, "has permissions n0 r7 r9, so domain 9 may read it", "n0 r7"),
    ),
    "anybody": (
        lambda store: set_permissions(store, FRONT, "w7", "r0"),
        *(FRONT, "has permissions w7 r0, so every domain may write it", "n7 r0"),
    ),
    "unreadable": (
        lambda store: set_permissions(store, f"{FRONT}/state", "n7"),
        *(f"{FRONT}/state", "has permissions n7, so domain 0 may not read it", "n7 r0"),
    ),
    "above": (
        lambda store: set_permissions(store, "/local/domain/7/device/vread", "n0", "b7"),
        "/local/domain/7/device/vread",
        *("has permissions n0 b7", "that no guest can write it"),
    ),
    "no frontend": (
        lambda store: store.remove(FRONT),
        *(FRONT, "is missing", "the frontend directory of this device"),
    ),
    "no backend": (
        lambda store: store.remove("/local/domain/0/backend/vread/7"),
        *(FRONT, "has no backend directory", BACK),
    ),
    "no device": (
        lambda store: store.remove(BACK),
        *("/local/domain/0/backend/vread/7", "belongs to no device", "devices in it"),
    ),
    "no domain": (
        lambda store: store.remove("/local/domain/7"),
        *(BACK, "belongs to domain 7, which does not exist", "a domain that exists"),
    ),
    "backend elsewhere": (
        lambda store: store.put(f"{FRONT}/backend", "/local/domain/5/backend/vread/7/0"),
        *(f"{FRONT}/backend", 'is "/local/domain/5/backend/vread/7/0"', BACK),
    ),
    "frontend elsewhere": (
        lambda store: store.put(f"{BACK}/frontend", "/local/domain/8/device/vread/0"),
        *(f"{BACK}/frontend", 'is "/local/domain/8/device/vread/0"', FRONT),
    ),
    "missing": (
        lambda store: store.remove(f"{BACK}/frontend-id"),
        *(f"{BACK}/frontend-id", "is missing in state 1", "a number from 0 to 32751"),
    ),
    "limit": (
        lambda store: store.put(f"{BACK}/limit-queues", "many"),
        *(f"{BACK}/limit-queues", 'is "many"', "a number from 1 to 8"),
    ),
    "states": (
        lambda store: store.put(f"{BACK}/state", "5"),
        *(f"{BACK}/state", "is Closing while the frontend's is Initialising", "Closed"),
    ),
    "leaving": (
        lambda store: store.put(f"{BACK}/online", "0"),
        *(f"{BACK}/state", "is Initialising while online is 0", "that the device is removed"),
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("mistake", SPOILT)
def test_mistakes_seeded(run, attach, xenstored, mistake):
    spoil, path, found, expected = SPOILT[mistake]
    assert attach().returncode == 0
    spoil(xenstored)
    before = dict(xenstored.nodes)
    done = run("xenstore", "check", "--json")
    assert (done.returncode, done.stderr) == (1, b"")
    answer = json.loads(done.stdout)
    assert answer["ok"] is False
    told = {problem["path"]: problem for problem in answer["problems"]}
    assert (told[path]["found"], told[path]["expected"]) == (found, expected)
    assert told[path]["remedy"]
    # One mistake must be reported once.  A missing device or backend has several wrong nodes.
    assert len(told) == 1 or mistake in ("no device", "no backend")
    assert xenstored.nodes == before


def test_what_only_passes_is_no_problem(run, attach, xenstored):
    """A device changes its state between two looks of the check.  No problem may be reported."""
    assert attach().returncode == 0
    xenstored.put(f"{FRONT}/state", "4")
    xenstored.put(f"{BACK}/state", "6")
    looks = 0

    def look(store):
        nonlocal looks
        looks += 1
        if looks == 2:
            store.put(f"{FRONT}/state", "6")

    xenstored.on_transaction = look
    done = run("xenstore", "check")
    assert (done.returncode, done.stdout) == (0, b"1 device, 0 problems\n")
    assert looks >= 2


def test_as_json(run, attach, xenstored):
    attach()
    done = run("xenstore", "check", "--json", "7")
    assert done.returncode == 0
    assert json.loads(done.stdout) == {"devices": 1, "ok": True, "problems": []}
    xenstored.put(f"{BACK}/online", "2")
    (problem,) = json.loads(run("xenstore", "check", "--json").stdout)["problems"]
    assert problem == {
        "path": f"{BACK}/online",
        "device": "xen:7/0",
        "found": 'is "2"',
        "expected": "a number from 0 to 1",
        "remedy": "xl-vread detach 7 --id 0 --force, then attach it again with what it may read",
    }


def test_other_guests_are_left_out(run, attach, xenstored):
    xenstored.put("/local/domain/8", "")
    attach()
    attach(domain="8")
    xenstored.put(f"{BACK}/online", "2")
    xenstored.put("/local/domain/7/device/vread/5/state", "1")
    assert run("xenstore", "check", "8").returncode == 0
    assert run("xenstore", "check", "7").stdout.endswith(b"1 device, 2 problems\n")


def test_no_device_of_that_domain(run, xenstored):
    done = run("xenstore", "check", "9")
    assert done.returncode == 1
    assert b"/local/domain/0/backend/vread/9: no vread device" in done.stderr


@pytest.mark.parametrize(
    "words,said",
    [
        ([], "expected: check [DOMID]"),
        (["repair"], "expected: check [DOMID]"),
        (["check", "x"], "domain id x: expected a number from 0 to 32751"),
        (["check", "--", "-1"], "domain id -1: expected a number from 0 to 32751"),
        (["check", "--yaml"], "unrecognized option '--yaml'"),
        (["check", "7", "8"], "8: one DOMID at most"),
    ],
)
def test_bad_command_lines_of_xenstore(run, words, said):
    done = run("xenstore", *words)
    assert done.returncode == 2
    assert said in done.stderr.decode()


def test_without_xenstore(xl_vread, tmp_path):
    done = xl_vread("xenstore", "check", env={"XENSTORED_PATH": str(tmp_path / "none")})
    assert done.returncode == 3
    assert b"xenstore: cannot connect (No such file" in done.stderr
