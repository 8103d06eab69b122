# SPDX-License-Identifier: GPL-2.0-or-later
"""Both sides of a link with ThreadSanitizer: reads, cancels, reconnects, reloads, many at once."""

import contextlib
import json
import shutil
import subprocess
import threading

import pytest

from tests.support import peer_wire as wire
from tests.support.daemon import REPOSITORY
from tests.support.peers import at, read_all
from tests.support.waiting import eventually
from tools.peers import peer

pytestmark = pytest.mark.slow

PROGRAMS = ("vreadd", "peerctl")
POOLS = 4  # of peerctl
READ = 700_000
SLOT = 1 << 20


@pytest.fixture
def sanitized(tmp_path, monkeypatch):
    """(a folder with the programs, a function that returns the reports so far)"""
    targets = [f"build/tsan/{name}" for name in PROGRAMS]
    subprocess.run(["make", "-C", REPOSITORY, "VARIANT=tsan", *targets], check=True)
    folder, reports = tmp_path / "bin", tmp_path / "reports"
    folder.mkdir()
    reports.mkdir()
    for name in PROGRAMS:
        shutil.copy(REPOSITORY / "build/tsan" / name, folder)
    # This sanitizer cannot work in a confined process.
    for name in ("vread-parser", "vread-key-agent"):
        shutil.copy(REPOSITORY / "build/release" / name, folder)
    monkeypatch.setenv("TSAN_OPTIONS", f"log_path={reports}/found exitcode=0")
    return folder, lambda: "\n".join(f.read_text() for f in sorted(reports.iterdir()))


def read_and_cancel(asker, block):
    """In each pool, reads that end, then reads during which the pool is stopped."""
    for pool in range(POOLS):
        asker.send("pool", pool)
        handle = asker.open(block)[0]
        for _ in range(3):
            tags = [asker.begin_read(handle, n * READ % SLOT, READ, n * SLOT) for n in range(12)]
            assert all(asker.error(tag) is None for tag in tags)
        tags = [asker.begin_read(handle, n * READ % SLOT, READ, n * SLOT) for n in range(16)]
        asker.send("stop")
        assert {asker.error(tag) for tag in tags} <= {None, "EAGAIN"}
        asker.send("close", handle)


def change_under_reads(asker, host, edit, address, block):
    """Peers come, go and move on both sides, and their rights change."""
    here, there = at(address, datanodes="*"), at(address, storages="dn1/DS-7", datanodes="dn*")
    for wanted in (peer("c", datanodes="*", address=address) + here, "", there, here):
        handle = asker.open(block)[0] if asker.error(asker.begin_open(block)) is None else None
        tags = [asker.begin_read(handle, 0, READ, n * SLOT) for n in range(12) if handle]
        asker.reload(wanted)
        assert {asker.error(tag) for tag in tags} <= {None, "EAGAIN"}
    for old, new in (("dn1\n[peer x]", "dn2\n[peer x]"), ("[peer x]", "[peer y]")):
        for change in ((old, new), (new, old)):
            eventually(lambda: asker.error(asker.begin_open(block)) in (None, "EACCES"))
            tags = [asker.begin_open(block) for _ in range(12)]
            edit(host, *change)
            assert json.loads(host.ask(b'{"command": "reload"}\n'))["result"] == "applied"
            assert {asker.error(tag) for tag in tags} <= {None, "EACCES", "ENOENT"}


def come_and_go(address, files, authority, ended):
    """Opens connections and closes them at once."""
    while not ended.is_set():
        with contextlib.suppress(OSError, AssertionError), wire.connect(address, files, authority):
            pass


def test_no_races(sanitized, start_host, start_asker, authority, image, edit, clock):
    folder, found = sanitized
    keys = {"crl": authority.revoke()}
    host, address = start_host(
        peers=peer("a", allow_datanodes="dn1") + peer("x"), keys=keys, variant=folder
    )
    ended = threading.Event()
    visitor = threading.Thread(
        target=come_and_go,
        args=(address, authority.certificate("x"), authority.ca, ended),
    )
    visitor.start()
    try:
        for round_ in range(3):
            asker = start_asker(
                at(address, datanodes="*"), keys={"idle-timeout": 5}, variant=folder
            )
            assert read_all(asker, image.blocks[1]) == image.contents[image.blocks[1].id]
            if round_ == 0:
                clock.until(lambda a=asker: a.peer("b")["state"] == "idle")
            change_under_reads(asker, host, edit, address, image.blocks[0])
            read_and_cancel(asker, image.blocks[0])
            authority.revoke()  # revokes nobody, but all certificates are checked again
            assert host.status()["peers"]["server"]["connections"] >= 1
            assert asker.stop() == 0
    finally:
        ended.set()
        visitor.join()
    assert host.stop() == 0
    assert found() == ""
