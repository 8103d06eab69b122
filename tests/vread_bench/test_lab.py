# SPDX-License-Identifier: GPL-2.0-or-later
"""What vread-bench uses of the lab, without an emulated machine that boots: the gate, and the count
of instructions."""

import contextlib
import re
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.waiting import eventually
from tools.lab.counter import copied, counter_arguments, instructions
from tools.lab.gate import Gate
from tools.lab.qemu import CPU, start_process
from tools.lab_bench import bare, disks, kvm, xen, xen_pair
from tools.lab_bench.__main__ import HERE
from tools.lab_bench.targets import BUSY, written
from tools.vread_bench import spec, targets
from tools.vread_bench.errors import BenchError
from tools.vread_bench.hosts import Host

pytestmark = pytest.mark.spread


class LocalCommand:
    def __init__(self, text, sink, error_sink):
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(["sh", "-c", text], stdin=pipe, stdout=pipe, stderr=pipe)
        pairs = (self._process.stdout, sink), (self._process.stderr, error_sink)
        self._readers = [threading.Thread(target=self._pass, args=pair) for pair in pairs]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _pass(stream, sink):
        while data := stream.read1(4096):
            sink(data)

    def write(self, data):
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def close_stdin(self):
        self._process.stdin.close()

    def wait(self):
        for reader in self._readers:
            reader.join()
        self.rc = self._process.wait()
        return self


class LocalMachine:
    """This machine, in place of an emulated one."""

    def popen(self, text, sink, error_sink):
        return LocalCommand(text, sink, error_sink)


@pytest.fixture
def host(tmp_path):
    """A host of vread-bench behind a gate."""
    with Gate(tmp_path / "gate", {"one": LocalMachine()}) as gate:
        yield Host("one", gate.words("one"))


def test_output_and_status(host, tmp_path):
    assert host.run("echo $((1 + 1)); cat", stdin=b"x'y\n") == b"2\nx'y\n"
    with pytest.raises(BenchError, match="one: `echo no >&2; exit 7` ended with 7: no"):
        host.run("echo no >&2; exit 7")


def test_a_file_longer_than_any_pipe(host, tmp_path):
    content = bytes(range(256)) * 4096
    host.put(content, f"{tmp_path}/it's")
    assert (tmp_path / "it's").read_bytes() == content
    assert host.run(f"cat '{tmp_path}/it'\\''s'") == content


def test_a_client_that_answers_line_by_line(host, tmp_path):
    """What session does with the measuring client."""
    with open(tmp_path / "log", "wb") as log:
        client = host.start("while read -r line; do echo got $line; done; echo end >&2", log)
    for word in ("ready", "go"):
        client.stdin.write(f"{word}\n")
        client.stdin.flush()
        assert client.stdout.readline() == f"got {word}\n"
    client.stdin.close()
    assert client.wait() == 0
    assert (tmp_path / "log").read_text() == "end\n"
    client.stdout.close()


def test_a_client_that_is_killed_ends_its_command(host, tmp_path):
    with open(tmp_path / "log", "wb") as log:
        client = host.start(f"echo up; cat; touch '{tmp_path}/ended'", log)
    assert client.stdout.readline() == "up\n"
    client.kill()
    client.wait()
    eventually(lambda: (tmp_path / "ended").exists(), what="the end of the command")
    client.stdin.close()
    client.stdout.close()


def test_a_machine_that_nobody_knows(tmp_path):
    with Gate(tmp_path / "gate", {}) as gate, pytest.raises(BenchError, match="KeyError.*two"):
        Host("two", gate.words("two")).run("true")


@contextlib.contextmanager
def paused_machine(tmp_path, *arguments):
    """A machine without disks that has executed nothing.  Yields its file of counts, its process,
    and a function that starts its processor."""
    count = tmp_path / "count"
    machine = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", CPU, "-display", "none", "-S"]
    monitor = ["-nodefaults", "-chardev", f"pipe,id=m,path={tmp_path}/m", "-mon", "m"]
    for end in ("in", "out"):
        subprocess.run(["mkfifo", f"{tmp_path}/m.{end}"], check=True)
    words = [*machine, "-m", "16M", *monitor, *arguments, *counter_arguments(count)]
    emulator = start_process(words, tmp_path / "log", [], tmp_path)
    try:
        with open(f"{tmp_path}/m.in", "w", buffering=1) as say, open(f"{tmp_path}/m.out") as hear:
            say.write("info status\n")
            # The emulator answers when it is up.  Its processor has not begun.
            assert any("paused" in line for line in hear)
            yield count, emulator, lambda: say.write("cont\n")
    finally:
        emulator.kill()
        emulator.wait()


def test_instructions_of_an_emulated_machine(tmp_path):
    """Its firmware is more than a million instructions."""
    with paused_machine(tmp_path) as (count, _, start):
        assert (instructions(count), copied(count)) == (0, 0)
        start()
        eventually(lambda: instructions(count) > 1_000_000, what="instructions")


# Firmware that copies, fills and stores, and ends the emulator.  The processor is in real mode.
COPIES = bytes.fromhex(
    "fc"  # cld
    "31c0 8ed8 8ec0"  # ds = es = 0
    "be0010 bf0040 b9e803 f3a4"  # rep movsb, 1000 bytes
    "0f20e0 660d00020000 0f22e0"  # cr4 |= OSFXSR: SSE is allowed
    "0f11060050"  # movups [0x5000], xmm0
    "660f7f060050"  # movdqa [0x5000], xmm0
    "f30f11060050"  # movss [0x5000], xmm0
    "bf0060 b96400 f3aa"  # rep stosb, 100 bytes
    "e6f4"  # out 0xf4, al
    "f4 ebfd"  # hlt, again and again
)
RESET = bytes.fromhex("ea000000f0")  # jmp f000:0000


def test_bytes_that_an_emulated_machine_copies(tmp_path):
    firmware = COPIES.ljust(0xFFF0, b"\xf4") + RESET.ljust(16, b"\xf4")
    (tmp_path / "firmware").write_bytes(firmware)
    end = ["-device", "isa-debug-exit,iobase=0xf4"]
    with paused_machine(tmp_path, "-bios", f"{tmp_path}/firmware", *end) as (
        count,
        emulator,
        start,
    ):
        start()
        emulator.wait()
        assert copied(count) == 1000 + 16 + 16


def test_the_operator_restarts_vreadd_only_for_another_way():
    asked = []
    hosts = SimpleNamespace(use=lambda *how: asked.append(how))
    operator = xen_pair.Operator(hosts)
    for way in ("tls", "plain", "plain", "rdma", "tls"):
        assert operator.popen(way, None, None).wait().rc == 0
    assert asked == [("tcp", "authentication"), ("rdma",), ("tcp",)]
    with pytest.raises(KeyError):
        operator.popen("tcp", None, None)


VREADD = SimpleNamespace(
    pid=5, config_path="/run/vread.conf", control_socket="/run/c.sock", endpoint="/run/v.sock"
)


class Cluster:
    """What targets of this machine ask of an HdfsCluster, which does not run."""

    version, conf_dir = "0", "/conf"

    def __init__(self, names):
        self.pids = {name: 7 for name in names}

    def datanode(self, name):
        disk = SimpleNamespace(path=Path("/image"))
        return SimpleNamespace(
            address=f"{name}:9866", disk=disk, disks=[disk], data_dirs=[Path("/data")]
        )


@pytest.mark.parametrize("name", ["bare", "disks"])
def test_targets_of_this_machine_know_what_their_specs_ask(tmp_path, monkeypatch, name):
    monkeypatch.setattr(bare, "hadoop_class_path", lambda version: Path("/hadoop"))
    monkeypatch.setattr(bare, "libhadoop_dir", lambda: Path("/native"))
    if name == "bare":
        both = {bare.NEAR: VREADD, bare.FAR: VREADD}
        made = bare.described(tmp_path, Cluster(both), both)
    else:
        made = disks.described(tmp_path, Cluster(disks.DISKS), VREADD)
    known = targets.read(written(tmp_path / "targets.yaml", name, made))
    assert spec.read(HERE / f"{name}.yaml", known).rounds >= 5
    assert not known[name].emulated and set(known[name].cpu) == {"datanode", "host"}


def test_a_place_of_disks_has_as_many_as_its_name_says():
    for place, names in disks.PLACES.items():
        each = {disks.DISKS[name] for name in names}
        assert len(each) == 1
        assert re.fullmatch(f"{len(names)}vms?-{each.pop()}disks?", place)


@pytest.mark.parametrize("name", ["kvm", "xen", "xen-pair"])
def test_targets_of_the_lab_know_what_their_specs_ask(tmp_path, name):
    with Gate(tmp_path / "gate", {}) as gate:
        if name == "kvm":
            pids = {"client": 2, "datanode": 3, "namenode": 4}
            made = kvm.described(gate, pids, VREADD, tmp_path / "image")
        elif name == "xen":
            made = xen.described(gate, VREADD, tmp_path / "count")
        else:
            made = xen_pair.described(gate, [tmp_path / "near", tmp_path / "far"])
    known = targets.read(written(tmp_path / "targets.yaml", name, made))
    wanted = spec.read(HERE / f"{name}.yaml", known)
    assert wanted.rounds >= 5
    assert known[name].emulated and known[name].client.keep
    assert set(known[name].cpu) == {"client", "datanode", "host", "network"}
    counted = set() if name == "kvm" else {"copied-bytes", "instructions"}
    assert set(known[name].counters) == counted
    busy = known[name].loads.get("4vms")
    assert name == "xen-pair" or [command.host.name for command in busy.enter] == list(BUSY)
