# SPDX-License-Identifier: GPL-2.0-or-later
"""How vread-bench reads CPU time on a target: texts of /proc, cgroups, xl and virsh, and this
machine's own."""

import os

import pytest

from tools.vread_bench import accounting
from tools.vread_bench.accounting import KINDS, Counter, grown
from tools.vread_bench.errors import BenchError
from tools.vread_bench.hosts import Host

pytestmark = pytest.mark.spread

STAT = "100\n7 (a b) c) S 1 1 1 0 -1 0 0 0 0 0 150 50 9 9 20 0 1 0 777 0\n"
VHOST = "8 (vhost-7) S 1 1 1 0 -1 0 0 0 0 0 0 25 9 9 20 0 1 0 778 0\n"
XL = (
    "Name                    ID   Mem VCPUs\tState\tTime(s)\n"
    "client1                  3   512     2     -b----      17.5\n"
)


def parsed(kind, text, what):
    return KINDS[kind][1](text, what)


def test_texts():
    assert parsed("pid", STAT, "7") == {"7@777": 2.0}
    assert parsed("processes", STAT + VHOST, "vhost-[0-9]+") == {"8@778": 0.25}
    assert parsed("processes", STAT, "vhost-[0-9]+") == {}
    assert parsed("cgroup", "usage_usec 1500000\nuser_usec 1\n", "x") == {"x": 1.5}
    assert parsed("domain", XL, "client1") == {"client1": 17.5}
    libvirt = "Domain: 'client1'\n  cpu.time=2500000000\n  cpu.user=1\n"
    assert parsed("libvirt", libvirt, "client1") == {"client1": 2.5}
    assert parsed("command", " 12e3\n", "x") == {"x": 12000.0}


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("cgroup", "echo user_usec 5"),
        ("domain", "echo Name ID; echo other 1 1 1 1 1.0"),
        ("pid", "echo 100"),
        ("command", "echo many"),
        ("libvirt", "echo cpu.time=x"),
    ],
)
def test_what_is_no_counter_is_an_error(monkeypatch, kind, line):
    monkeypatch.setitem(KINDS, kind, (lambda what: line, KINDS[kind][1]))
    with pytest.raises(BenchError, match=f"me: {kind} x: no counter in "):
        Counter(Host("me"), kind, "x").read()


def test_a_command_that_fails_is_an_error():
    with pytest.raises(BenchError, match="me: `.* cat /proc/0x/stat` ended with"):
        Counter(Host("me"), "pid", "0x").read()


def test_this_process():
    counter = Counter(Host("me"), "pid", str(os.getpid()))
    before = accounting.read({"client": [counter]})
    until = sum(os.times()[:2]) + 0.1
    while sum(os.times()[:2]) < until:
        pass
    after = accounting.read({"client": [counter]})
    assert 0.09 <= grown(before, after)["client"] <= 1


def test_processes_that_come_and_go():
    before = {"network": {(0, "8@1"): 5.0, (0, "9@1"): 7.0}}
    after = {"network": {(0, "8@1"): 6.0, (0, "10@2"): 0.5}}
    assert grown(before, after) == {"network": 1.5}


def test_two_counters_of_a_part_add_up():
    host = Host("me")
    several = {"host": [Counter(host, "command", "echo 3"), Counter(host, "command", "echo 4")]}
    found = accounting.read(several)
    assert sorted(found["host"].values()) == [3.0, 4.0]
    assert grown({"host": dict.fromkeys(found["host"], 1.0)}, found) == {"host": 5.0}
