# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of backends and readers that die or hang, which pass in guests of every hypervisor.
tests/xen/shared/test_faults.py and tests/kvm/test_faults.py import them.

A module that does so has these fixtures: client (a guest that reads dn1 by vRead, connected at the
start and at the end of each test), backend, demo.
"""

import pytest

from tests.support.guest_program import FOLDER, compiled
from tests.support.waiting import eventually
from tools.lab import deployment, product
from tools.lab.paths import REPOSITORY

CAT = f"vread cat --timeout {deployment.READ_TIMEOUT_MS}"
READ = f"{CAT} --blocks-from {deployment.BLOCKS} >/dev/null"
# A reader that reads until a read fails, and prints the error.  One process reads the blocks 1,024
# times, so that what happens to it happens to its reads, and not to the start of its next process.
LONG = "/run/long.txt"
DOUBLED = f'l=$(cat {deployment.BLOCKS}); for _ in 1 2 3 4 5 6 7 8 9 10; do l="$l\n$l"; done'
READER = (
    f'{DOUBLED}; echo "$l" >{LONG}; '
    f"while {CAT} --blocks-from {LONG} >/dev/null 2>/tmp/err; do :; done; cat /tmp/err"
)
SOON = 120.0


@pytest.fixture(scope="session")
def vread_events(tmp_path_factory):
    library = REPOSITORY / "build/release/libvread.so.1"
    header = f"-I{REPOSITORY}/hdfs-native/libvread"
    source = FOLDER / "vread_events.c"
    return compiled(source, tmp_path_factory.mktemp("programs"), header, library)


def start_reader(backend, client):
    """Starts a reader in the guest, and returns it when its first bytes were read."""
    before = backend.bytes_read(client)
    reader = client.popen(READER, timeout=300)
    eventually(lambda: backend.bytes_read(client) > before, what="bytes on their way")
    return reader


def test_backend_killed_and_restarted_under_a_reader(client, demo, backend):
    """vreadd is killed: the reader must get an error, and read again after the restart.  Whoever
    keeps the memory, the kernel of Xen's dom0 or vread-ivshmem, tells the guest."""
    reader = start_reader(backend, client)
    backend.kill()
    said = reader.wait(SOON).stdout.decode()
    assert "no backend" in said or "went away" in said, said
    assert client.run(READ, timeout=SOON).rc == 3
    backend.start()
    backend.wait_connected(client)
    assert deployment.file_digest(client) == demo.sha256


def test_an_event_loop(client, demo, backend, vread_events):
    """vread_events must be told by its event descriptor of completions, of room, and of a backend
    that goes and comes; and be told of nothing else.  The poll() under it is the module's."""
    client.put(vread_events, "/vread_events")
    block = demo.blocks[0]
    name = f"{block.pool} {block.block_id} {block.genstamp} {block.storage_ids[0]}"
    loop = client.popen(f"exec /vread_events {name} 2>&1 >/run/bytes", timeout=300)
    loop.wait_output("quiet\n", SOON)
    client.run(f"{CAT} {block.spec()} | cmp - /run/bytes").check()
    backend.kill()
    loop.wait_output("gone\n", SOON)
    backend.start()
    done = loop.wait(SOON)
    assert (done.rc, done.stdout) == (0, b"quiet\ngone\nback\n"), done.stdout
    backend.wait_connected(client)
    assert deployment.file_digest(client) == demo.sha256


def test_backend_that_hangs_costs_one_time_limit(client, demo, backend):
    """vreadd is stopped: a read must fail at its time limit, and later reads be right.  The guest's
    kernel keeps the limit, and the late answer arrives in its pages."""
    backend.signal("STOP")
    try:
        answer = client.run("vread cat --timeout 1000 --blocks-from /blocks.txt", timeout=SOON)
    finally:
        backend.signal("CONT")
    assert answer.rc != 0
    assert "time" in answer.stderr.decode()
    assert deployment.file_digest(client) == demo.sha256


def test_reader_killed_in_mid_read(client, demo, backend):
    """A reader is killed five times; the next reader must get right bytes.  The module must not
    reuse pages of a dead process that a backend still writes to."""
    for _ in range(5):
        reader = start_reader(backend, client)
        reader.kill()
        reader.wait(SOON)
    assert deployment.file_digest(client) == demo.sha256
    assert backend.device(client)["state"] == "Connected"


def test_module_in_use_cannot_be_unloaded(client, demo, backend):
    """rmmod must fail while a process has /dev/vread open, and work afterwards.  The module's count
    of users and its unloading exist only in a guest's kernel."""
    holder = client.popen("exec 3</dev/vread; echo holding; exec cat", timeout=700)
    holder.wait_output("holding", SOON)
    refused = client.run(product.unload())
    assert refused.rc != 0
    assert (
        "in use" in refused.stderr.decode() or "temporarily unavailable" in refused.stderr.decode()
    )
    assert deployment.file_digest(client) == demo.sha256
    holder.kill()
    holder.wait(SOON)
    client.run(product.unload(), timeout=60).check()
    backend.wait_offered(client)  # closed, and offered anew
    assert client.run("test -e /dev/vread").rc != 0
    backend.connect(client)
    assert deployment.file_digest(client) == demo.sha256
