# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that hang up while their worker waits for a process that hangs.

vreadd sends such a worker signals until the worker ends.  The worker must end at the time limit of
its wait, as if nobody had hung up.  From then on at the latest, vreadd serves all other clients
again.  While the signals come, time passes several times faster than real time, not at once.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.clock import Clock
from tests.support.daemon import STORAGE, Daemon, Image, open_status
from tests.support.hdfs_dir import POOL
from tests.support.localfront import OPEN, open_data, open_part, request
from tests.support.sockets import has_unread
from tests.support.waiting import eventually
from tools.vreadd import stop_process

STEP = 0.5  # s of vreadd's time for each poll; several polls pass between two signals


@pytest.fixture
def image(tmp_path):
    return Image(tmp_path)


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path / "clock")


def connect_in_time(daemon):
    """Connects another client; time passes until it is connected."""
    with ThreadPoolExecutor(1) as executor:
        other = executor.submit(daemon.front)
        daemon.clock.until(other.done, step=STEP, what="another client")
    return other.result()


def parser_of(daemon):
    return daemon.status()["datanodes"][0]["parser"]


def test_parser_hangs(tmp_path, image, clock):
    block = image.blocks[0]
    daemon = Daemon(tmp_path, image, clock=clock)
    try:
        parser = parser_of(daemon)["pid"]
        stop_process(parser)
        with daemon.front() as front:
            data = open_data(POOL, [STORAGE])
            front.pool[: len(data)] = data
            part = open_part(block.id, block.genstamp, len(data))
            front.queues[0].push(request(OPEN, pool_pages=1, part=part))
            eventually(lambda: has_unread(parser), what="the worker's question")
        with connect_in_time(daemon) as other:
            why = "it did not answer in time"
            daemon.wait_until(lambda: parser_of(daemon).get("last-end") == why)
            assert open_status(other, block) == 0
        assert daemon.stop() == 0
    finally:
        daemon.kill()
