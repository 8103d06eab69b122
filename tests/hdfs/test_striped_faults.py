# SPDX-License-Identifier: GPL-2.0-or-later
"""Erasure-coded files while the backend is killed or hangs.

HDFS takes a reader that fails for a missing block.  Without the backend all readers of a stripe
would fail at once, more than parity can replace, although every datanode is healthy.  So the
plug-in's readers of such files go on by TCP by themselves.
"""

import contextlib
import hashlib
import json
import os
import signal
import subprocess

import pytest

from tests.support.clock import Clock
from tests.support.tiers import slow
from tools.hdfs import HdfsCluster, jvm
from tools.hdfs.demo_data import REPOSITORY
from tools.hdfs.plug_in import READER
from tools.vreadd import Vreadd, VreaddError

pytestmark = pytest.mark.hadoop

JAR = REPOSITORY / "build/java/vread-hdfs.jar"
PROGRAM = REPOSITORY / "tests/hdfs/programs/PausedRead.java"
POLICY = "XOR-2-1-1024k"
SIZE = (22 << 20) + 4321  # so that the half lies in the middle of a block group
TIMEOUT_MS = 60_000
DATA_UNITS = 2


@pytest.fixture(
    scope="module", params=["false", pytest.param("true", id="tokens", marks=pytest.mark.slow)]
)
def cluster(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp("striped")
    (directory / "local").write_bytes(os.urandom(SIZE))
    options = {"block_size": 4 << 20, "live": True, "disk_mib": 256, "class_path": [JAR]}
    options["conf"] = {"dfs.block.access.token.enable": request.param}
    with HdfsCluster(directory / "c", datanodes=3, **options) as running:
        for words in (["-enablePolicy"], ["-setPolicy", "-path", "/"]):
            command = jvm.java_command(
                running.class_path,
                "org.apache.hadoop.hdfs.tools.ECAdmin",
                [*words, "-policy", POLICY],
            )
            jvm.run(command, "hdfs ec")
        running.put(directory / "local", "/file")
        running.sync()
        running.digest = hashlib.sha256((directory / "local").read_bytes()).hexdigest()
        yield running


def read(cluster, daemon, way, folder, at_half):
    """Runs PausedRead and calls at_half() in the pause.  Returns (digest, the client's log)."""
    clock = Clock(folder / "clock")
    conf = {
        **READER,
        "io.vread.endpoint": daemon.endpoint,
        "io.vread.timeout.ms": TIMEOUT_MS,
        "io.vread.statistics.file": folder / "statistics",
    }
    words = ["/file", way, *(f"{name}={value}" for name, value in conf.items())]
    command = jvm.java_command(cluster.class_path, str(PROGRAM), words)
    log = folder / "log"
    with (
        open(log, "w") as sink,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=sink,
            text=True,
            env=os.environ | clock.environment,
        ) as program,
    ):
        assert program.stdout.readline() == "half\n", log.read_text()
        at_half()
        program.stdin.write("\n")
        program.stdin.flush()
        clock.until(lambda: program.poll() is not None, step=1, what=log.read_text)
        out = program.stdout.read()
    assert program.returncode == 0, log.read_text()
    return out.strip(), log.read_text()


@pytest.mark.parametrize(
    ("fate", "way"),
    [("killed", "stream"), ("hung", "pread"), *slow(("killed", "pread"), ("hung", "stream"))],
)
def test_backend_goes_away_in_mid_stripe(cluster, tmp_path, way, fate):
    daemon = Vreadd(cluster.served())
    daemon.start()
    try:
        goes_away = {"killed": lambda: os.kill(daemon.pid, signal.SIGKILL), "hung": daemon.suspend}
        digest, said = read(cluster, daemon, way, tmp_path, goes_away[fate])
    finally:
        os.kill(daemon.pid, signal.SIGCONT)
        with pytest.raises(VreaddError) if fate == "killed" else contextlib.nullcontext():
            daemon.stop()
    assert digest == cluster.digest
    counts = json.loads((tmp_path / "statistics").read_text())
    assert counts["vread"]["bytes"] >= SIZE // 2 - (1 << 20)
    assert counts["fallback"]["blocks"] > 0
    for blame in ("missing blocks", "add to deadNodes", "Exception while reading"):
        assert blame not in said
    # A stream has blocks open when the backend goes: each of its readers fails once, invisibly.
    assert (1 if way == "stream" else 0) <= counts["vread"]["failures"] <= DATA_UNITS
