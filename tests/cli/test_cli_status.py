# SPDX-License-Identifier: GPL-2.0-or-later
"""xl-vread status: with a real vreadd, with unusual answers, and without vreadd."""

import contextlib
import json
import socket

import pytest

from tests.cli.control_socket import ControlSocket
from tests.libvread import vreadlib
from tests.libvread.conftest import lib  # noqa: F401
from tests.support.waiting import eventually


def test_of_a_real_daemon(xl_vread, vreadd, served, lib):  # noqa: F811
    block = served[1]["large"]
    eventually(lambda: not vreadd.status()["devices"])  # connections of other tests have ended
    with (
        vreadlib.Connection(lib, vreadd.endpoint, pool_bytes=2 << 20) as connection,
        connection.open(block.pool, block.id, block.genstamp) as f,
    ):
        f.pread(1 << 20, 0)
        done = xl_vread("status", "--socket", vreadd.control_socket)
        assert (done.returncode, done.stderr) == (0, b"")
        text = done.stdout.decode()
        document = json.loads(
            xl_vread("status", "--json", "--socket", vreadd.control_socket).stdout
        )
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("vreadd ")
    assert f"pid {vreadd.pid}" in lines[0]
    assert any(line.split()[:2] == ["dn1", "served"] for line in lines)
    (device,) = [line.split() for line in lines if line.startswith("local:")]
    assert device[1:5] == ["Connected", "client", "2.0", "MiB"]
    assert device[5] == "1"  # opens
    assert "    partition gpt:2: clean" in lines
    assert document["pid"] == vreadd.pid
    assert document["datanodes"][0]["datanode"] == "dn1"


@pytest.fixture
def daemon(endpoint):
    with contextlib.ExitStack() as stack:

        def start(answer):
            stack.enter_context(ControlSocket(endpoint, answer))
            return endpoint

        yield start


FULL = {
    "version": "9.9",
    "pid": 12,
    "uptime_seconds": 90061,
    "config": "/etc/vread/vread.conf",
    "ports": {
        "xen": {"state": "unavailable", "last_error": "no xenstore on this machine"},
        "kvm": {"state": "unavailable", "socket": "/s", "last_error": "cannot connect to it"},
        "local": {"state": "on", "socket": "/run/" + "long-name/" * 20 + "vread.sock"},
    },
    "datanodes": [
        {
            "datanode": "dn1",
            "images": [
                {"image": "/images/dn1.raw", "format": "raw", "mode": "direct", "size": 5 << 40},
                {"image": "qcow2:/images/dn1b.qcow2"},
                {
                    "image": "qcow2:/images/top.qcow2",
                    "backing": [
                        {"image": "/images/middle.qcow2", "format": "qcow2"},
                        {"image": "/base/" + "long-name/" * 20, "format": "raw"},
                    ],
                },
            ],
            "layout": "l",
            "file": "/var/lib/vread/datanodes/dn1.conf",
            "state": "served",
            "missing": "image /images/dn1.raw: " + "no data directory /dfs/2: " * 9,
            "published": {
                "finalized": 2**62,
                "append": 2,
                "truncate": 2**62,
                "delete": 4,
                "withdrawn": 5,
            },
            "tokens": {
                "mode": "auto",
                "required": True,
                "seen": True,
                "says-off": True,
                "problem": "/tokens/dn1.json: cannot write: " + "disk full: " * 50,
                "pools": [
                    {"pool": "BP-1", "required": True, "keys": 3, "expiry": 1, "until": 1},
                    {"pool": "BP-2", "required": True, "keys": 0},
                ],
                "valid": 7,
                "refused": {"expired": 2, "missing": 2**62},
            },
            "filesystems": [
                {
                    "partition": "gpt:2",
                    "state": "clean",
                    "offset": 1 << 20,
                    "data-dirs": [
                        {"path": "/dfs/1", "storage-id": "DS-1", "pools": ["BP-1", "p" * 255]},
                        {"path": "/" + "d" * 1022, "storage-id": "s" * 127, "pools": []},
                    ],
                },
                {"partition": "gpt:3", "state": "live"},
                {"partition": "gpt:4", "state": "refused: it has errors: let its owner run e2fsck"},
                {"partition": "x" * 300, "state": "y" * 300},
                {},
            ],
        },
        {
            "datanode": "dn2",
            "images": [{"image": "/" + "x" * 200 + ".raw"}],
            "state": "waiting",
            "layout": "/var/lib/vread/layouts/dn2.json",
            "missing": "it is encrypted, and " + "that cannot be read " * 10,
        },
        {
            "datanode": "dn3",
            "images": [{"image": "/dn3"}],
            "data-dirs": ["/a"],
            "file": "/etc/vread/vread.conf",
            "state": "waiting",
            "missing": "image /dn3: No such file or directory",
            "filesystems": [],
        },
    ],
    "devices": [
        {
            "port": "xen",
            "name": "xen:7/0",
            "state": "Connected",
            "role": "datanode",
            "num_queues": 1,
            "pool_pages": 4096,
            "counters": {"opens": 3, "reads": 99999999, "bytes": 7 << 50, "errors": {"EIO": 2}},
            "last_error": None,
        },
        {"name": "xen:8/0", "state": "Closed", "role": "client", "last_error": "ring overflow"},
        {"name": "kvm:" + "g" * 63, "state": "Closed", "role": None, "last_error": "7 bad"},
        {"name": "xen:9/0", "state": "Initialising", "role": "client", "pool_pages": 0},
    ],
    "totals": {"opens": 1, "reads": 2, "bytes": 0, "errors": {"ENOENT": 5, "EPERM": 1}},
    "clones": [
        {
            "datanodes": ["dn1", "dn2"],
            "pool": "BP-1",
            "problem": "their finalized replicas of block 7, generation stamp 8, differ in length",
            "remedy": "serve each cluster by a vreadd of its own",
        },
        {"datanodes": ["dn1", "d" * 63], "problem": "both have the datanodeUuid u", "remedy": "-"},
    ],
    "peers": {
        "server": {
            "last_refused": "192.0.2.9:5: its certificate names no [peer] " * 3,
            "refused": 6,
            "strangers": {
                "waiting": 2,
                "ended": {"hung_up": 1 << 40, "displaced": 3, "late": 1, "failed": 2},
            },
        },
        "peers": [
            {
                "name": "host-b",
                "state": "authenticated",
                "transport": "rdma",
                "storages": 12,
                "direct": 3 << 30,
                "bounced": 5 << 20,
                "encrypted": 6 << 20,
                "plain": 7 << 20,
                "asked": {"bytes": 1023 << 50},
                "answered": {"bytes": 7},
                "failures": 4,
                "last_error": "no answer within 10000 ms",
            },
            {"name": "host-c", "state": "idle", "transport": None, "direct": 0, "bounced": 0},
        ],
    },
    "reading": {
        "io_uring": "Operation not permitted",
        "cache": {
            "size": 64 << 20,
            "limited_by": "service",
            "used": 5 << 20,
            "hits": 7,
            "misses": 3,
            "filled": 9 << 20,
            "filled_again": 2 << 20,
        },
    },
}


def test_everything_it_can_show(xl_vread, daemon):
    done = xl_vread("status", "--socket", daemon(json.dumps(FULL).encode() + b"\n"))
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    for part in (
        "vreadd 9.9, pid 12, up 1d 01:01:01",
        f"published: finalized {2**62}, append 2, truncate",
        "    configured in /var/lib/vread/datanodes/dn1.conf",
        "delete 4, withdrawn now 5",
        "block tokens: on, without keys of BP-2: no block of it is opened",
        "WARNING: the datanode says that block tokens are off; they were on and",
        "WARNING: /tokens/dn1.json: cannot write: disk full: disk full",
        f"block tokens: valid 7, expired 2, missing {2**62}",
        "xen:7/0     Connected    datanode",
        "xen:9/0     Initialising client",
        "no xenstore on this machine",
        "long-name/vread.sock",
        "5.0 TiB",
        "it is encrypted",
        "    partition gpt:2: clean\n      /dfs/1: storage DS-1, pools:\n        BP-1\n",
        "no pool yet",
        "/images/top.qcow2\n    backed by qcow2:/images/middle.qcow2\n    backed by",
        "raw:/base/long-name/",
        "    image /images/dn1.raw: no data directory /dfs/2: no data",
        "    layout /var/lib/vread/layouts/dn2.json\n",
        "dn3              waiting          -  /dn3\n    image /dn3: No such file or directory\n",
        "    partition gpt:3: live\n",
        "    partition gpt:4: refused: it has errors: let its owner run e2fsck\n",
        "kvm    unavailable  /s\n    cannot connect to it\n",
        f"kvm:{'g' * 63}\n            Closed       - ",
        "ring overflow",
        "16.0 MiB",
        "7.0 PiB",
        "ENOENT 5, EPERM 1",
        "verified cache: 5.0 MiB of 64.0 MiB (as large as MemoryMax of the service\n"
        "    allows), 7 of 10 reads",
        "    a cache of twice the size would have had 2.0 MiB of 9.0 MiB that were read",
        "\n  by RDMA: 3.0 GiB direct, 5.0 MiB bounced\n",
        "\n  by TLS, because readers asked for encryption: 6.0 MiB\n",
        "\n  unencrypted: 7.0 MiB\n",
        "no answer within 10000 ms\nhost-c           idle          -  ",
        "not authenticated:\n    2 waiting, 1099511627776 hung up, 3 displaced, 1 late, 2 failed\n",
        "refused last:\n    192.0.2.9:5: its certificate",
        "WARNING: no io_uring (Operation not permitted): images in mode direct",
    ):
        assert part in text, part
    flat = " ".join(text.split())
    for part in (
        "WARNING: datanodes dn1 and dn2 look like clones of one cluster, pool BP-1: their "
        "finalized replicas of block 7, generation stamp 8, differ in length; serve each cluster "
        "by a vreadd of its own ",
        f"WARNING: datanodes dn1 and {'d' * 63} look like clones of one cluster: both have",
    ):
        assert part in flat, part


UNTIL = 1_800_000_000_000  # ms


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        ({"mode": "off", "required": False, "pools": []}, "off by the operator (tokens = off)"),
        ({"mode": "auto", "required": False}, "off: the datanode never sent keys"),
        ({"mode": "auto", "required": True}, "on, without keys: no block is opened"),
        (
            {"required": True, "pools": [{"until": UNTIL + 1}, {"until": UNTIL}]},
            "on, keys until 2027-01-15 08:00:00",
        ),
    ],
)
def test_tokens_of_a_datanode(xl_vread, daemon, tokens, said):
    answer = {"datanodes": [{"datanode": "dn1", "tokens": tokens}]}
    status = daemon(json.dumps(answer).encode() + b"\n")
    done = xl_vread("status", "--socket", status, env={"TZ": "UTC"})
    assert f"    block tokens: {said}\n" in done.stdout.decode()


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"ports": 5, "datanodes": {}, "devices": "x", "totals": []},
        {"ports": {"xen": None}, "datanodes": [None, 3], "devices": [[]], "totals": {"opens": "x"}},
        {"datanodes": [{"missing": 1, "layout": {}, "state": 7, "size": []}]},
        {"datanodes": [{"filesystems": [{"data-dirs": 5}, {"data-dirs": [[], {"pools": [4]}]}]}]},
        {"datanodes": [{"published": 5}, {"published": {"append": "x"}}]},
        {
            "datanodes": [
                {"tokens": 5},
                {"tokens": {"pools": [3, {"required": True}], "refused": 1}},
                {"tokens": {"required": True, "pools": 5, "problem": 7, "says-off": "x"}},
                {"tokens": {"required": True, "pools": [3, {"until": 2**62}]}},
                {"tokens": {"required": True, "pools": [{"until": 2**62}]}},
                {"tokens": {"required": False, "mode": 5}},
            ]
        },
        {"datanodes": [{"tokens": {"valid": "x", "refused": {"a" * 999: 1, "b": "c", "d": 2}}}]},
        {"datanodes": [{"filesystems": 5}, {"filesystems": [None, 3, {"state": 7}]}]},
        {"datanodes": [{"images": [{"backing": 5}, {"backing": [7, {"image": 3}, []]}]}]},
        {"version": 3, "pid": "x", "uptime_seconds": -5},
    ],
)
def test_unexpected_members_are_no_reason_to_fail(xl_vread, daemon, answer):
    done = xl_vread("status", "--socket", daemon(json.dumps(answer).encode() + b"\n"))
    assert (done.returncode, done.stderr) == (0, b"")
    assert max(map(len, done.stdout.decode().splitlines())) <= 80


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (b"", "not a JSON object"),
        (b"[]\n", "not a JSON object"),
        (b'{"a": 1', "not a JSON object"),
        (b"\xff\xfe\n", "not a JSON object"),
        (b'{"error": "unknown command"}\n', "unknown command"),
    ],
)
def test_bad_answers(xl_vread, daemon, answer, text):
    done = xl_vread("status", "--socket", daemon(answer))
    assert (done.returncode, done.stdout) == (1, b"")
    assert text in done.stderr.decode()


def test_no_daemon(xl_vread, endpoint):
    done = xl_vread("status", "--socket", endpoint)
    assert (done.returncode, done.stdout) == (3, b"")
    assert f"{endpoint}: no such socket; is vreadd running" in done.stderr.decode()
    left = socket.socket(socket.AF_UNIX)
    left.bind(endpoint)
    left.close()
    done = xl_vread("status", "--json", "--socket", endpoint)
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"vreadd is not running; start it" in done.stderr


def test_path_too_long(xl_vread):
    done = xl_vread("status", "--socket", "/" + "x" * 200)
    assert done.returncode == 1
    assert b"File name too long" in done.stderr
