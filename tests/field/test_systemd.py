# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports about services under systemd: restarts without end, folders that vanish, messages that
children send, reloads during a start.  The rows are in README.md."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import XL_VREAD, clean_environment
from tests.support.daemon import Daemon, Image, binary, children
from tests.support.waiting import eventually
from tools.vreadd import REPOSITORY

UNITS = {
    path.stem: path.read_text()
    for path in (
        REPOSITORY / "xen-backend/control/vreadd.service",
        REPOSITORY / "xen-backend/ivshmem-server/vread-ivshmem.service",
        REPOSITORY / "tools/xl-vread/xl-vread.service",
    )
}


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    return Image(tmp_path_factory.mktemp("image"))


@pytest.fixture
def notify(tmp_path, monkeypatch):
    """The socket that systemd would give to a service."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(str(tmp_path / "notify"))
        notified.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        notified.settimeout(60)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield notified


def setting(unit, key):
    return re.findall(rf"^{key}=(.*)$", UNITS[unit], re.M)


# ---- restarts ------------------------------------------------------------------------------------


def test_a_host_with_nothing_to_serve_is_not_tried_for_ever(tmp_path):
    """The unit says that this end is final, and vreadd's status is the one that the unit names."""
    config = tmp_path / "vread.conf"
    config.write_text(f"[vreadd]\ncontrol-socket = {tmp_path}/c\nstorage-record =\n")
    done = subprocess.run(
        [binary(), "-c", config],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"XENSTORED_PATH": str(tmp_path / "none")},
    )
    assert "nothing to serve: no Xen here" in done.stderr
    assert setting("vreadd", "RestartPreventExitStatus") == [str(done.returncode)] == ["4"]


def test_a_mistake_that_is_corrected_needs_nobody(tmp_path):
    """Other ends are tried again: a configuration may be wrong for a moment."""
    config = tmp_path / "vread.conf"
    config.write_text("[vreadd]\nlog-level = loud\n")
    done = subprocess.run([binary(), "-c", config], capture_output=True, timeout=60)
    assert str(done.returncode) not in setting("vreadd", "RestartPreventExitStatus")
    assert setting("vreadd", "Restart") == ["on-failure"]


def test_a_service_of_xen_is_not_started_without_xen():
    """xl-vread watch ends with 3 where there is no xenstore, each second again.  The condition is a
    file that only Xen's kernels have, and that hosts of KVM have not."""
    assert setting("xl-vread", "ConditionPathExists") == ["/sys/hypervisor/type"]
    assert setting("vreadd", "ConditionPathExists") == []  # serves guests of KVM, too
    condition = UNITS["xl-vread"].index("ConditionPathExists")
    assert condition < UNITS["xl-vread"].index("[Service]")


# ---- folders -------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["vreadd", "vread-ivshmem"])
def test_the_folder_of_sockets_stays(unit):
    """systemd would remove it at each end, and with it what is mounted into containers."""
    assert setting(unit, "RuntimeDirectoryPreserve") == ["yes"]


def test_no_two_services_have_one_folder():
    """The first that ends would remove the folder under the other."""
    folders = [folder for unit in UNITS for folder in setting(unit, "RuntimeDirectory")]
    assert len(folders) == len(set(folders)) == 2


def test_an_orderly_end_leaves_no_socket(tmp_path, image):
    """As the folder stays, sockets must not: a client would be refused, and not told that there is
    no vreadd."""
    daemon = Daemon(tmp_path, image)
    assert daemon.socket.exists() and daemon.control.exists()
    assert daemon.stop() == 0
    assert [path for path in tmp_path.iterdir() if path.is_socket()] == []


# ---- messages to systemd -------------------------------------------------------------------------


def test_children_cannot_speak_to_systemd(tmp_path, image, notify):
    """systemd logs each message of another process than the main one, and with NotifyAccess=all
    would believe it."""
    daemon = Daemon(tmp_path, image)
    try:
        found = children(daemon.process.pid)
        assert {"vread-key-agent", "vread-parser"} <= set(found)
        for name, pid in found.items():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                environment = Path(f"/proc/{pid}/environ").read_bytes()
                assert b"NOTIFY_SOCKET" not in environment, name
                assert b"WATCHDOG" not in environment, name
    finally:
        assert daemon.stop() == 0


def hang_up_while_it_starts(program, tmp_path, text, ready):
    """Sends SIGHUP while the program reads its configuration.  Returns its log after `ready`."""
    config, log = tmp_path / "vread.conf", tmp_path / "log"
    os.mkfifo(config)
    with open(log, "wb") as out:
        process = subprocess.Popen([program, "-c", config], stdout=out, stderr=out)
    try:

        def opened():
            with contextlib.suppress(OSError):  # nobody reads yet
                return os.open(config, os.O_WRONLY | os.O_NONBLOCK)

        fifo = eventually(opened)
        process.send_signal(signal.SIGHUP)
        new = tmp_path / "new"
        new.write_text(text)
        new.rename(config)
        os.write(fifo, text.encode())
        os.close(fifo)

        def come():
            assert process.poll() is None, log.read_text()
            return ready in log.read_text()

        eventually(come, 60, log.read_text)
        process.terminate()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
    return log.read_text()


def test_a_hang_up_while_vreadd_starts(tmp_path):
    """For systemd an end by SIGHUP is an orderly one, after which nothing is started again."""
    text = f"[vreadd]\ncontrol-socket = {tmp_path}/c\nstorage-record =\n"
    text += f"[local]\nsocket = {tmp_path}/l\n"
    said = hang_up_while_it_starts(binary(), tmp_path, text, "is applied")
    assert said.index(": ready") < said.index("reload: ")


def test_a_hang_up_while_vread_ivshmem_starts(tmp_path):
    text = f"[vreadd]\nivshmem-socket = {tmp_path}/c\n"
    program = binary().with_name("vread-ivshmem")
    said = hang_up_while_it_starts(program, tmp_path, text, "is applied")
    assert said.index(": ready") < said.index("reload: ")


def test_a_reload_in_the_middle_of_a_start(tmp_path, image, notify):
    """The socket is there before vreadd serves.  The question waits until then, and systemd is told
    that vreadd is ready before it is told of the reload."""
    ask = 'until [ -S "$1" ] && "$0" reload --json --socket "$1" 2>/dev/null; do :; done'
    reload = subprocess.Popen(
        ["sh", "-c", ask, XL_VREAD, tmp_path / "control.sock"],
        stdout=subprocess.PIPE,
        env=clean_environment(),
    )
    daemon = None
    try:
        daemon = Daemon(tmp_path, image, looked=False)
        assert json.loads(reload.communicate(timeout=120)[0])["result"] == "applied"
        told = [notify.recv(4096).split(b"\n")[0] for _ in range(3)]
        assert told == [b"READY=1", b"RELOADING=1", b"READY=1"]
    finally:
        reload.kill()
        reload.wait()
        assert daemon is None or daemon.stop() == 0
    eventually(lambda: notify.recv(4096).startswith(b"STOPPING=1"))
