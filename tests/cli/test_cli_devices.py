# SPDX-License-Identifier: GPL-2.0-or-later
"""vread attach and detach: what they write to xenstore, in one transaction, as libxl would."""

import pytest

FRONT = "/local/domain/7/device/vread/0"
BACK = "/local/domain/0/backend/vread/7/0"
GUEST = ("n7", "r0")  # owned by the guest, readable by dom0
DOM0 = ("n0", "r7")


@pytest.fixture
def run(vread, xenstored):
    def call(*words):
        return vread(*words, env={"XENSTORED_PATH": xenstored.path})

    return call


def tree(store, root):
    """Values and permissions below a directory."""
    return {
        path[len(root) + 1 :]: (node.value, node.perms)
        for path, node in store.nodes.items()
        if path.startswith(root + "/")
    }


def test_attach(run, xenstored):
    done = run("attach", "7", "--allow-datanodes", "dn1 dn2")
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
    # what lies above is not the guest's
    assert xenstored.nodes["/local/domain/7/device/vread"].perms == ("n0", "r7")
    assert xenstored.nodes["/local/domain/0/backend/vread/7"].perms == ("n0",)


def test_attach_with_everything(run, xenstored):
    words = ["--id", "3", "--role", "datanode", "--allow-datanodes", "*", "--allow-pools", "BP-1"]
    assert run("attach", "7", *words).returncode == 0
    back = BACK[:-1] + "3"
    assert xenstored.value(f"{back}/role") == "datanode"
    assert xenstored.value(f"{back}/allow-datanodes") == "*"
    assert xenstored.value(f"{back}/allow-pools") == "BP-1"
    assert xenstored.value(FRONT[:-1] + "3/backend") == back


def test_nothing_is_allowed_unless_said(run, xenstored):
    assert run("attach", "7").returncode == 0
    assert xenstored.value(f"{BACK}/allow-datanodes") == ""


def test_nobody_sees_half_a_device(run, xenstored):
    seen = []
    xenstored.on_change = lambda store, path: seen.append(
        (BACK in store.nodes, FRONT in store.nodes)
    )
    assert run("attach", "7").returncode == 0
    assert set(seen) == {(True, True)}
    seen.clear()
    assert run("detach", "7").returncode == 0
    assert (True, False) not in seen and (False, True) not in seen


def test_transactions_are_repeated(run, xenstored):
    xenstored.conflicts = 3
    assert run("attach", "7").returncode == 0
    assert xenstored.conflicts == 0
    assert xenstored.value(f"{BACK}/state") == "1"


def test_attach_twice(run, xenstored):
    assert run("attach", "7").returncode == 0
    xenstored.put(f"{BACK}/state", "4")
    done = run("attach", "7", "--allow-datanodes", "*")
    assert done.returncode == 1
    assert b"has device 0 already; 'vread detach 7 --id 0' removes it" in done.stderr
    assert xenstored.value(f"{BACK}/state") == "4"
    assert xenstored.value(f"{BACK}/allow-datanodes") == ""
    assert run("attach", "7", "--id", "1").returncode == 0


def test_no_such_domain(run, xenstored):
    before = dict(xenstored.nodes)
    done = run("attach", "8")
    assert done.returncode == 1
    assert b"domain 8: not there" in done.stderr
    assert xenstored.nodes == before


def test_attach_and_wait(run, xenstored):
    def backend(store, path):
        if store.value(f"{BACK}/state") == "1":
            store.put(f"{BACK}/state", "2")
            store.put(f"{BACK}/state", "4")

    xenstored.on_change = backend
    assert run("attach", "7", "--wait", "20").returncode == 0
    assert xenstored.value(f"{BACK}/state") == "4"


def test_attach_and_wait_in_vain(run, xenstored):
    done = run("attach", "7", "--wait", "1")
    assert done.returncode == 1
    assert b"not connected within 1 s (state 1)" in done.stderr


def connected(run, store):
    assert run("attach", "7").returncode == 0
    store.put(f"{FRONT}/state", "4")
    store.put(f"{BACK}/state", "4")


def test_detach_of_a_connected_device(run, xenstored):
    seen = []

    def backend(store, path):
        if path == f"{BACK}/state" and store.value(path) == "5":
            seen.append(store.value(f"{BACK}/online"))
            store.put(f"{BACK}/state", "6")

    connected(run, xenstored)
    xenstored.on_change = backend
    done = run("detach", "7")
    assert (done.returncode, done.stderr) == (0, b"")
    assert seen == ["0"]
    assert not [path for path in xenstored.nodes if "vread" in path]
    assert "/local/domain/7/device" in xenstored.nodes


def test_detach_leaves_other_devices(run, xenstored):
    assert run("attach", "7").returncode == 0
    assert run("attach", "7", "--id", "1").returncode == 0
    assert run("detach", "7").returncode == 0
    assert BACK not in xenstored.nodes and FRONT not in xenstored.nodes
    assert BACK[:-1] + "1" in xenstored.nodes and FRONT[:-1] + "1" in xenstored.nodes


def test_detach_when_the_backend_removes_it_itself(run, xenstored):
    def backend(store, path):
        if path == f"{BACK}/state" and store.value(path) == "5":
            store.remove("/local/domain/0/backend/vread/7")

    connected(run, xenstored)
    xenstored.on_change = backend
    assert run("detach", "7").returncode == 0
    assert not [path for path in xenstored.nodes if "vread/7" in path or "device/vread" in path]


def test_detach_of_a_stuck_backend(run, xenstored):
    connected(run, xenstored)
    done = run("detach", "7", "--wait", "1")
    assert done.returncode == 1
    assert b"not closed within 1 s; is vreadd running? --force removes" in done.stderr
    assert xenstored.value(f"{BACK}/online") == "0"
    assert run("detach", "7", "--wait", "0", "--force").returncode == 0
    assert BACK not in xenstored.nodes and FRONT not in xenstored.nodes


def test_detach_of_nothing(run, xenstored):
    done = run("detach", "7")
    assert done.returncode == 1
    assert b"domain 7 has no vread device 0" in done.stderr


@pytest.mark.parametrize("command", ["attach", "detach"])
def test_no_xenstore(vread, command, tmp_path):
    done = vread(command, "7", env={"XENSTORED_PATH": str(tmp_path / "none")})
    assert done.returncode == 3
    assert b"xenstore: cannot connect" in done.stderr


# ---- xenstore check ------------------------------------------------------------------------


def test_a_fresh_device_has_no_problem(run, xenstored):
    run("attach", "7", "--allow-datanodes", "dn1")
    done = run("xenstore", "check")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"1 device, 0 problems\n", b"")
    assert run("xenstore", "check", "7").returncode == 0


def test_every_wrong_node_is_named(run, xenstored):
    run("attach", "7", "--allow-datanodes", "dn1")
    run("attach", "7", "--id", "1")
    xenstored.put(f"{BACK}/online", "yes", DOM0)
    xenstored.put(f"{BACK}/allow-datanodes", "dn1", ("n0", "b7"))
    xenstored.put(f"{FRONT}/colour", "red", GUEST)
    xenstored.put(f"{BACK[:-1]}1/state", "2", DOM0)
    done = run("xenstore", "check")
    assert done.returncode == 1
    lines = done.stdout.decode().splitlines()
    assert f'{BACK}/online: "yes" is not a number from 0 to 1' in lines
    assert f"{BACK}/allow-datanodes: can be written by domain 7, whose device it governs" in lines
    assert f"{FRONT}/colour: is not a node of protocol version 1" in lines
    assert f"{BACK[:-1]}1/max-queues: is missing in state 2" in lines
    assert lines[-1] == "2 devices, 7 problems"


def test_no_device_of_that_domain(run, xenstored):
    done = run("xenstore", "check", "9")
    assert done.returncode == 1
    assert b"/local/domain/0/backend/vread/9: no vread device" in done.stderr


@pytest.mark.parametrize(
    "words,said",
    [
        ([], "expected: check [DOMID]"),
        (["repair"], "expected: check [DOMID]"),
        (["check", "x"], "x: expected a domain id from 0 to 32751"),
        (["check", "-1"], "-1: expected a domain id from 0 to 32751"),
        (["check", "7", "8"], "8: one DOMID at most"),
    ],
)
def test_bad_command_lines_of_xenstore(run, words, said):
    done = run("xenstore", *words)
    assert done.returncode == 2
    assert said in done.stderr.decode()


def test_without_xenstore(vread, tmp_path):
    done = vread("xenstore", "check", env={"XENSTORED_PATH": str(tmp_path / "none")})
    assert done.returncode == 3
    assert b"xenstore cannot be reached" in done.stderr
