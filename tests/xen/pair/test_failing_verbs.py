# SPDX-License-Identifier: GPL-2.0-or-later
"""Each place of the RDMA transport that makes an RDMA call fails once, at either end of a queue
pair.  No native test has RDMA.

The program is rdma-pair, linked with failing_verbs.c.
"""

import json
import re

import pytest

from tests.support.failing_calls import Shared
from tests.xen.pair.conftest import FAR, FOLDER
from tools.lab import CommandFailed

pytestmark = [pytest.mark.xen, pytest.mark.slow, pytest.mark.timeout(1800)]

ENDPOINT = f"{FAR}:7002"
CALLS, PROGRAM = "/run/failing-calls", "/usr/bin/rdma-pair-failing"
FAILING = ["env", f"FAILING_CALLS={CALLS}", PROGRAM]
READS, LENGTH = 10, 65536
SOON = 120.0
BY_BOTH = {"rdma_create_event_channel", "rdma_create_id", "rdma_create_qp", "ibv_query_device"}
BY_BOTH |= {"ibv_alloc_pd", "ibv_create_comp_channel", "ibv_create_cq", "ibv_req_notify_cq"}
BY_BOTH |= {"ibv_reg_mr", "ibv_post_recv", "ibv_post_send", "ibv_poll_cq"}
BY_WHO_ASKS = {"rdma_set_option", "rdma_resolve_addr", "rdma_resolve_route", "rdma_connect"}
BY_WHO_ASKS |= {"ibv_alloc_mw"}
BY_WHO_ANSWERS = {"rdma_bind_addr", "rdma_listen", "rdma_migrate_id", "rdma_accept"}
# Why a program ends that cannot begin.
NO_BEGINNING = re.compile("no RDMA|: Cannot allocate memory|: Cannot assign requested address")


class FailingVerbs:
    """The RDMA calls of rdma-pair-failing in a dom0: one place at a time fails, and each once."""

    def __init__(self, host, file):
        self._host, self._file = host, file
        host.run(f"cat >{CALLS}", stdin=bytes(Shared(once=1))).check()

    def _write(self, **fields):
        """Writes the fields before `once`."""
        start = bytes(Shared(**fields))[: Shared.once.offset]
        self._host.run(f"cat 1<>{CALLS}", stdin=start).check()

    def arm(self):
        self._write(left=1)

    def disarm(self):
        """The name of the call that failed since arm() and its line, or ("", "no call failed")."""
        told = Shared.from_buffer_copy(self._host.run(f"cat {CALLS}").check().stdout)
        self._write()
        return told.name.decode(), told.told(self._file)


def ask(host, command):
    """Runs an asker.  Returns its counts, or why it could not begin.  No byte may be wrong."""
    words = [f"reads={READS}", f"length={LENGTH}"]
    done = host.run([*command, ENDPOINT, FOLDER, "near", "peer=far", *words], timeout=300)
    complaint = done.stderr.decode()
    assert "Sanitizer" not in complaint, complaint
    if done.rc:
        return complaint
    told = json.loads(done.stdout)
    assert (told["wrong"], told["late"]) == (0, 0), told
    return told


def has_all(told):
    return told["answered"] == READS and told["error"] == ""


def is_well(told):
    """True if all bytes arrived, or else there is an error."""
    if isinstance(told, str):
        return NO_BEGINNING.search(told)
    return has_all(told) or told["error"] != ""


def name_of(call):
    return call.removesuffix("_iova2")  # verbs.h chooses one of two functions


def test_each_call_of_who_asks(near_host, far_host, built_program):
    """An asker is started for each place.  It must report an error, or have all bytes (through
    buffers, where its memory could not be registered)."""
    (file,) = built_program("rdma-pair-failing", "asan").values()
    verbs, failed = FailingVerbs(near_host, file), set()
    answerer = far_host.popen(["rdma-pair", ENDPOINT, FOLDER, "far"])
    try:
        answerer.wait_output("listening", SOON)
        while True:
            verbs.arm()
            told = ask(near_host, FAILING)
            call, where = verbs.disarm()
            if not call:
                break
            assert is_well(told), (where, told)
            failed.add(name_of(call))
        assert has_all(told), told
        assert failed == BY_BOTH | BY_WHO_ASKS
    finally:
        answerer.kill()
        answerer.wait(SOON)


class Answering:
    """An answerer whose calls may fail.  It serves two connections, and frees all."""

    def __init__(self, host):
        self._command = host.popen([*FAILING, ENDPOINT, FOLDER, "far", "connections=2"])

    def begins(self):
        """False: it ended, and said why."""
        try:
            self._command.wait_output("listening", SOON)
        except CommandFailed as ended:
            assert NO_BEGINNING.search(ended.result.stderr.decode()), ended
            return False
        return True

    def finish(self, status):
        """Waits for its end, by which it must have freed all."""
        done = self._command.wait(SOON)
        assert "Sanitizer" not in done.stderr.decode(), done
        assert done.rc == status, done

    def kill(self):
        self._command.kill()
        self._command.wait(SOON)


def test_each_call_of_who_answers(near_host, far_host, built_program):
    """An answerer is started for each place.  It must not begin, or who asks must hear an error or
    have all bytes.  Whoever asks next must have all bytes."""
    (file,) = built_program("rdma-pair-failing", "asan").values()
    verbs, failed = FailingVerbs(far_host, file), set()
    while True:
        verbs.arm()
        answering = Answering(far_host)
        try:
            begins = answering.begins()
            told = begins and ask(near_host, ["rdma-pair"])
            call, where = verbs.disarm()
            if begins:
                assert is_well(told), (where, told)
                told = ask(near_host, ["rdma-pair"])
                assert has_all(told), (where, told)
            answering.finish(0 if begins else 1)
        finally:
            answering.kill()
        if not call:
            break
        failed.add(name_of(call))
    assert failed == BY_BOTH | BY_WHO_ANSWERS
