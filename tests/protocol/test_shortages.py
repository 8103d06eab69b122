# SPDX-License-Identifier: GPL-2.0-or-later
"""This host lacks something that a look into the images needs, for many looks.  That is no loss:
what was found before is served, the status says what is lacking, and then all is as before."""

import contextlib
import itertools
import os
import pwd
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.support.clock import Clock
from tests.support.daemon import Image, open_status, vreadd_with_parser
from tests.support.users import folder_of, needs_root
from tests.support.waiting import eventually

USER = "games"  # of this file only: the kernel counts descriptors on their way by user
ACCOUNT = pwd.getpwnam(USER)
AS_USER = ["setpriv", f"--reuid={ACCOUNT.pw_uid}", f"--regid={ACCOUNT.pw_gid}", "--clear-groups"]
LOOKS = 5
FILES = 400
SEND_AND_WAIT = """
import socket, sys
ends = socket.socketpair()
for _ in range(int(sys.argv[1]) // 250 + 1):
    socket.send_fds(ends[0], [b"."], [0] * 250)
print(flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder():
    with folder_of(ACCOUNT) as path:
        yield path


@pytest.fixture(params=["asan", pytest.param("release", marks=pytest.mark.thorough)])
def variant(request):
    return request.param


@contextlib.contextmanager
def descriptors_on_their_way(daemon):
    """A process of vreadd's user sends more descriptors than vreadd may open, to nobody."""
    limit = ["prlimit", f"--nofile={4 * FILES}:{4 * FILES}"]
    command = [*limit, *AS_USER, sys.executable, "-c", SEND_AND_WAIT, str(2 * FILES)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as sender:
        assert sender.stdout.readline() == b"\n"
        yield
        sender.stdin.close()
        assert sender.wait(60) == 0


@contextlib.contextmanager
def no_descriptor_left(daemon):
    """vreadd may open one more file, and needs more to start a parser."""
    pid = daemon.process.pid
    used = {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}
    free = next(fd for fd in itertools.count() if fd not in used)

    def limit(soft):  # as its user: root needs a capability for that
        subprocess.run([*AS_USER, "prlimit", f"--pid={pid}", f"--nofile={soft}:"], check=True)

    limit(free + 1)
    yield
    limit(FILES)


def serve_on(daemon, image, shortage, lacking):
    """Looks fail for a shortage; the neighbour, who was there before, opens blocks all the time."""
    daemon.look()
    before = daemon.fds()
    with daemon.front() as neighbour:

        def neighbour_opens():
            assert [open_status(neighbour, block) for block in image.blocks] == [0, 0, 0]

        neighbour_opens()
        with shortage:
            for _ in range(LOOKS):
                daemon.look()
                neighbour_opens()
            (entry,) = daemon.status()["datanodes"]
            assert entry["state"] == "served"
            assert lacking in entry["shortage"]
            said = daemon.log().count("cannot look into its images, serving what was found before")
            assert said == 1
        daemon.look()
        neighbour_opens()
        (entry,) = daemon.status()["datanodes"]
        assert (entry["state"], entry.get("shortage")) == ("served", None)
    eventually(lambda: daemon.fds() <= before, what="descriptors back")


@needs_root
@pytest.mark.parametrize(
    ("shortage", "lacking"),
    [
        (descriptors_on_their_way, "Too many references"),
        (no_descriptor_left, "Too many open files"),
    ],
)
def test_a_user_without_descriptors(
    start_daemon, folder, tmp_path_factory, variant, shortage, lacking
):
    """vread-opener has answers that it cannot send, or vreadd cannot take them."""
    image = Image(tmp_path_factory.mktemp("image"))
    image.data_dirs = ["/dfs/data"]
    daemon = start_daemon(
        folder=folder,
        serving=image,
        variant=variant,
        clock=Clock(folder / "clock"),
        max_fds=FILES,
        extra=f"[vreadd]\nuser = {USER}\n",
    )
    serve_on(daemon, image, shortage(daemon), lacking)


@pytest.mark.parametrize("by", ["layout", "data-dirs"])
def test_no_parser_can_be_started(start_daemon, image, tmp_path, by):
    """A parser that gets no threads ends before it has read anything of an image."""
    found = image if by == "layout" else SimpleNamespace(path=image.path, data_dirs=["/dfs/data"])
    marker = tmp_path / "no-threads"
    script = f"[ -e {marker} ] && kill -9 $$\nexec $REAL"
    daemon = start_daemon(serving=found, program=vreadd_with_parser(tmp_path / "bin", script))

    @contextlib.contextmanager
    def no_threads():
        marker.touch()
        yield
        marker.unlink()

    serve_on(daemon, image, no_threads(), "the parser of its images is not running")
