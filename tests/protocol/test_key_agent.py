# SPDX-License-Identifier: GPL-2.0-or-later
"""vread-key-agent, asked as vreadd does, or as a vreadd that was taken over might: it tells no key,
and its own clock decides.  Also what vreadd does without it."""

import contextlib
import errno
import os
import pwd
import signal
import socket
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.block_token import Key, make_token
from tests.support.clock import Clock
from tests.support.daemon import PUBLISHER, STORAGE, binary, children, open_status
from tests.support.hdfs_dir import POOL
from tests.support.localfront import Gone
from tests.support.owner import needs_root
from tests.support.waiting import eventually

KEYS, FORGET, JUDGE = 1, 2, 3
REQUEST = struct.Struct("IIq256s")
ANSWER = struct.Struct("iIq64Q")
VALID, MALFORMED, UNKNOWN_KEY, FORGED, EXPIRED, OTHER_BLOCK = 0, 2, 3, 4, 5, 6
MAX_BYTES = 8192
SECRET = b"sEcReT-of-BLOCKS"
KEY = Key(7, SECRET)
BLOCK = 1073741825


class Agent:
    def __init__(self, variant="asan", environment=None):
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        high = os.dup2(theirs.fileno(), 200)
        theirs.close()
        program = binary(variant).with_name("vread-key-agent")
        command = ["bash", "-c", f'exec "$0" 3<&{high} {high}<&-', program]
        self.process = subprocess.Popen(command, pass_fds=[high], env=environment or {})
        os.close(high)
        self.channel.settimeout(60)
        assert self.receive() == (0, 0, 0)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.channel.close()
        assert self.process.wait(60) == 0 or any(error)

    def receive(self):
        """(result, count, newest); None: the agent has ended.  numbers: of the keys."""
        data = self.channel.recv(1 << 16)
        if not data:
            return None
        fields = ANSWER.unpack(data)
        self.numbers = [number for number in fields[3:] if number]
        return fields[:3]

    def send(self, kind, slot=1, data=b"", block=0, pool=b""):
        self.channel.send(REQUEST.pack(kind, slot, block, pool) + data)

    def keys(self, *keys, slot=1):
        self.send(KEYS, slot, b"".join(key.packed() for key in keys))
        return self.receive()

    def judge(self, token, slot=1, block=BLOCK):
        self.send(JUDGE, slot, token, block, POOL.encode())
        return self.receive()[0]


@pytest.fixture
def agent():
    with Agent() as started:
        yield started


def test_keys_of_a_slot(agent):
    """A token is judged by the keys of one slot.  New keys replace the old ones."""
    token = make_token(KEY, POOL, BLOCK)
    assert agent.judge(token) == UNKNOWN_KEY
    assert agent.keys(KEY, Key(8, expiry=5)) == (0, 2, KEY.expiry)
    assert agent.judge(token) == VALID
    assert agent.judge(token, slot=2) == UNKNOWN_KEY
    assert agent.judge(token, block=BLOCK + 1) == OTHER_BLOCK
    assert agent.keys(Key(7, b"another"), slot=2)[0] == 0
    assert agent.judge(token, slot=2) == FORGED
    assert agent.keys(Key(8, expiry=6)) == (0, 1, 6)
    assert agent.judge(token) == UNKNOWN_KEY


def test_a_key_that_stays_keeps_its_number(agent):
    """By it vreadd knows whether the key is there that has signed a token.  A key that takes the id
    of another, or comes back, has a number of its own."""
    token = make_token(KEY, POOL, BLOCK)

    def numbers(*keys, slot=1):
        assert agent.keys(*keys, slot=slot)[:2] == (0, len(keys))
        assert len(agent.numbers) == len(keys)
        return agent.numbers

    first, second = numbers(KEY, Key(8))
    assert agent.judge(token) == VALID and agent.numbers == [first]
    assert agent.judge(token, block=BLOCK + 1) == OTHER_BLOCK and agent.numbers == []
    third, *others = numbers(Key(9), Key(8, expiry=5), KEY)
    assert others == [second, first]
    seen = {first, second, third, *numbers(Key(7, b"another")), *numbers(KEY)}
    seen.update(numbers(KEY, slot=2))
    assert len(seen) == 6


def test_keys_that_are_forgotten(agent):
    token = make_token(KEY, POOL, BLOCK)
    for kind in (KEYS, FORGET):
        assert agent.keys(KEY)[0] == 0
        assert agent.judge(token) == VALID
        agent.send(kind)
        if kind == KEYS:
            assert agent.receive() == (0, 0, 0)
        assert agent.judge(token) == UNKNOWN_KEY


def test_malformed_keys_change_nothing(agent):
    assert agent.keys(KEY)[0] == 0
    agent.send(KEYS, 1, KEY.packed()[:-1])
    assert agent.receive() == (-errno.EINVAL, 0, 0)
    assert agent.judge(make_token(KEY, POOL, BLOCK)) == VALID


def test_the_slot_without_keys(agent):
    assert agent.keys(KEY, slot=0) == (-errno.EINVAL, 0, 0)
    assert agent.judge(make_token(KEY, POOL, BLOCK), slot=0) == UNKNOWN_KEY


@pytest.mark.parametrize("variant", ["asan", "release"])
def test_every_slot_with_every_key(variant):
    """All the keys that vreadd can give have room."""
    keys = [Key(n, bytes([n]) * 64) for n in range(64)]
    with Agent(variant) as agent:
        for slot in range(1, 4096):
            assert agent.keys(*keys, slot=slot)[:2] == (0, 64)
        assert agent.judge(make_token(keys[5], POOL, BLOCK), slot=4095) == VALID


def test_the_time_is_its_own(tmp_path):
    clock = Clock(tmp_path / "clock")
    token = make_token(KEY, POOL, BLOCK, expiry=clock.ms + 10_000)
    with Agent(environment=clock.environment) as agent:
        assert agent.keys(KEY)[0] == 0
        assert agent.judge(token) == VALID
        clock.advance(11)
        assert agent.judge(token) == EXPIRED


def nonsense():
    token = make_token(KEY, POOL, BLOCK)
    yield "an empty message", b"\0"
    yield "a short one", REQUEST.pack(JUDGE, 1, BLOCK, b"BP")[:-1]
    yield "no such kind", REQUEST.pack(4, 1, BLOCK, b"BP") + token
    yield "no such slot", REQUEST.pack(JUDGE, 4096, BLOCK, b"BP") + token
    yield "the last number of a slot", REQUEST.pack(KEYS, 2**32 - 1, 0, b"") + KEY.packed()
    yield "a pool without an end", REQUEST.pack(JUDGE, 1, BLOCK, b"B" * 256) + token
    yield "a byte too many", REQUEST.pack(JUDGE, 1, BLOCK, b"BP") + bytes(MAX_BYTES + 1)
    yield "far too many", REQUEST.pack(KEYS, 1, 0, b"") + bytes(60000)


@pytest.mark.parametrize("variant", ["asan", "release"])
@pytest.mark.parametrize("message", [pytest.param(m, id=name) for name, m in nonsense()])
def test_nonsense_ends_it(message, variant):
    """It says nothing, and ends in order."""
    with Agent(variant) as agent:
        assert agent.keys(KEY)[0] == 0
        agent.channel.send(message)
        assert agent.receive() is None


def test_descriptors_are_dropped(agent):
    with open("/etc/hostname") as file:
        request = REQUEST.pack(KEYS, 1, 0, b"") + KEY.packed()
        socket.send_fds(agent.channel, [request], [file.fileno()] * 8)
        assert agent.receive()[0] == 0
        assert len(os.listdir(f"/proc/{agent.process.pid}/fd")) == 4


def test_by_hand():
    program = binary("release").with_name("vread-key-agent")
    done = subprocess.run([program], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 1
    assert "is started by vreadd(8)" in done.stderr


@needs_root
def test_it_has_no_right():
    with Agent("release") as agent:
        status = Path(f"/proc/{agent.process.pid}/status").read_text()
        known = dict(line.split(":\t", 1) for line in status.splitlines())
        assert set(known["Uid"].split()) == {str(pwd.getpwnam("nobody").pw_uid)}
        assert int(known["CapEff"], 16) == int(known["CapPrm"], 16) == 0
        assert (known["NoNewPrivs"], known["Seccomp"], known["Threads"]) == ("1", "2", "1")


# ---- where the keys are ------------------------------------------------------------------


def agent_of(daemon):
    return children(daemon.process.pid)["vread-key-agent"]


def private_memory(pid):
    """The bytes of a process that no other process shares, as one iterable of mappings."""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, mode, *_ = line.split()
            start, end = (int(n, 16) for n in span.split("-"))
            if mode == "rw-p":
                memory.seek(start)
                with contextlib.suppress(OSError):  # a guard page
                    yield memory.read(end - start)


def has_secret(pid):
    return any(SECRET in bytes_ for bytes_ in private_memory(pid))


def test_vreadd_keeps_no_key(start_daemon):
    """After KEYS is answered, the keys are in the agent alone: in use, replaced, refused or
    malformed.  The agent wipes what it no longer needs."""
    daemon = start_daemon(local=PUBLISHER, variant="release")
    vreadd, agent = daemon.process.pid, agent_of(daemon)
    with daemon.front() as front:
        assert front.keys(POOL, STORAGE, [KEY]) == 0
        assert (has_secret(vreadd), has_secret(agent)) == (False, True)
        assert front.keys(POOL, STORAGE, []) == 0
        assert front.keys(POOL, STORAGE, [KEY, KEY]) == -errno.EINVAL
        assert front.keys(POOL, STORAGE, [KEY], tokens=0) == -errno.EINVAL
        assert front.keys(POOL, "DS-2", [KEY]) == -errno.ENODEV
        assert (has_secret(vreadd), has_secret(agent)) == (False, False)


@pytest.mark.parametrize("case", ["opened", "absent", "refused", "malformed", "of another pool"])
def test_nobody_keeps_a_token(start_daemon, block, case):
    """After an OPEN is answered, the token is in the client's pool alone."""
    daemon = start_daemon(local=PUBLISHER, variant="release")
    token = make_token(KEY if case != "refused" else Key(7, b"another"), POOL, block.id)
    password = token[token.index(b"HDFS_BLOCK_TOKEN") - 21 :][:20]
    if case == "malformed":
        token = token[:-1]
    if case == "absent":
        block = replace(block, id=block.id + 4711)
        token = make_token(KEY, POOL, block.id)
        password = token[token.index(b"HDFS_BLOCK_TOKEN") - 21 :][:20]
    pool = "BP-unknown" if case == "of another pool" else POOL
    expected = {"opened": 0, "absent": -errno.ENOENT, "of another pool": -errno.ENODEV}
    with daemon.front() as front:
        assert front.keys(POOL, STORAGE, [KEY]) == 0
        status = front.open(block.id, block.genstamp, pool, [STORAGE], token).status
        assert status == expected.get(case, -errno.EPERM)
        assert password in bytes(front.pool)
        assert front.stat(999).status == -errno.EBADF
        for pid in (daemon.process.pid, agent_of(daemon)):
            assert not any(password in bytes_ for bytes_ in private_memory(pid))


# ---- without the agent -------------------------------------------------------------------


def ends(daemon):
    """vreadd ends in order, and says why."""
    assert daemon.process.wait(120) == 1
    assert "vread-key-agent has ended, and with it the keys of block tokens" in daemon.log()
    assert not daemon.socket.exists()
    daemon.killed = True


def test_a_killed_agent(start_daemon, block):
    """Only the datanodes could give the keys again.  So vreadd ends, and starts as ever."""
    daemon = start_daemon(local=PUBLISHER)
    token = make_token(KEY, POOL, block.id)
    with daemon.front() as front:
        assert front.keys(POOL, STORAGE, [KEY]) == 0
        os.kill(agent_of(daemon), signal.SIGKILL)
        ends(daemon)
    again = start_daemon(folder=daemon.folder, local=PUBLISHER)
    with again.front() as front:
        assert open_status(front, block, token) == -errno.EPERM
        assert front.keys(POOL, STORAGE, [KEY]) == 0
        assert open_status(front, block, token) == 0


def test_a_stopped_agent(start_daemon, block):
    """Nobody waits for it longer than 10 s; status does not wait at all."""
    daemon = start_daemon(local=PUBLISHER)
    agent, token = agent_of(daemon), make_token(KEY, POOL, block.id)
    with daemon.front() as front, ThreadPoolExecutor() as pool:
        assert front.keys(POOL, STORAGE, [KEY]) == 0
        os.kill(agent, signal.SIGSTOP)
        asked = pool.submit(open_status, front, block, token)
        assert daemon.status()["datanodes"][0]["tokens"]["valid"] == 0
        daemon.clock.until(asked.done, step=1)
        # vreadd may end before the answer is on its way.
        gone = isinstance(asked.exception(), Gone)
        assert gone or asked.result() == -errno.EPERM
        ends(daemon)
    eventually(lambda: not Path(f"/proc/{agent}").exists())


def test_it_ends_with_vreadd(start_daemon):
    daemon = start_daemon()
    agent = agent_of(daemon)
    daemon.kill()
    eventually(lambda: not Path(f"/proc/{agent}").exists())
