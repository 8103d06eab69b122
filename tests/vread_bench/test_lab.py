# SPDX-License-Identifier: GPL-2.0-or-later
"""What vread-bench uses of the lab, without an emulated machine that boots: the gate, and the count
of instructions."""

import subprocess
import threading

import pytest

from tests.support.waiting import eventually
from tools.lab.counter import counter_arguments, instructions
from tools.lab.gate import Gate
from tools.lab.qemu import start_process
from tools.lab_bench import kvm
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


def test_instructions_of_an_emulated_machine(tmp_path):
    """A machine without disks runs its firmware, which is more than a million instructions."""
    count = tmp_path / "count"
    machine = ["qemu-system-x86_64", "-accel", "tcg", "-display", "none", "-nodefaults", "-S"]
    monitor = ["-chardev", f"pipe,id=m,path={tmp_path}/m", "-mon", "m"]
    for end in ("in", "out"):
        subprocess.run(["mkfifo", f"{tmp_path}/m.{end}"], check=True)
    emulator = start_process(
        [*machine, "-m", "16M", *monitor, *counter_arguments(count)], tmp_path / "log", [], tmp_path
    )
    try:
        with open(f"{tmp_path}/m.in", "w") as say, open(f"{tmp_path}/m.out") as hear:
            say.write("info status\n")
            say.flush()
            # The emulator answers when it is up.  Its processor has not begun.
            assert any("paused" in line for line in hear)
            assert instructions(count) == 0
            say.write("cont\n")
            say.flush()
            eventually(lambda: instructions(count) > 1_000_000, what="instructions")
    finally:
        emulator.kill()
        emulator.wait()


def test_the_target_kvm_knows_what_its_spec_asks(tmp_path):
    pids = {"client": 2, "datanode": 3, "namenode": 4}
    with Gate(tmp_path / "gate", {}) as gate:
        made = kvm.described(gate, pids, 5, tmp_path / "image")
    known = targets.read(written(tmp_path / "targets.yaml", "kvm", made))
    wanted = spec.read(HERE / "kvm.yaml", known)
    assert wanted.rounds >= 5
    assert known["kvm"].emulated and known["kvm"].client.keep
    assert set(known["kvm"].cpu) == {"client", "datanode", "host", "network"}
    assert [command.host.name for command in known["kvm"].loads["4vms"].enter] == list(BUSY)
