# SPDX-License-Identifier: GPL-2.0-or-later
"""vread-bench measures a real HDFS on this machine, with a little data: all ways and workloads,
files that are spread over DataNodes and disks, and a file whose bytes have changed behind HDFS'
back.  Speed is not judged."""

import base64
import shutil
import tempfile
import zlib
from pathlib import Path

import pytest

from tools.hdfs import HdfsCluster, hadoop_class_path
from tools.hdfs.native_code import libhadoop_dir
from tools.vread_bench.spec import DEFAULT_SEED
from tools.vreadd import REPOSITORY, Vreadd

pytestmark = [pytest.mark.hadoop, pytest.mark.slow, pytest.mark.timeout(1800)]

JAR = REPOSITORY / "build" / "java" / "vread-hdfs.jar"
SIZE, BLOCK = 8 << 20, 4 << 20
READERS = 2
DISKS = (2, 1)  # of each DataNode

SPEC = """\
name: real
rounds: 1
size: 8MiB
preads: 50
cells:
  - targets: here
    ways: [stock, vread, short-circuit]
    workloads: [sequential, re-read, pread, write]
    requests: 64KiB
    loads: 2vms
    places: local
    images: raw
    readers: 2
  - targets: here
    ways: [stock, vread, short-circuit]
    workloads: pread-4k
    requests: 4KiB
    loads: 2vms
    places: local
    images: raw
"""
TARGETS = """\
targets:
  here:
    kind: bare
    hosts: {{me: {{by: local}}}}
    client:
      host: me
      folder: {folder}/client
      options: [-Xmx256m, -Djava.library.path={libhadoop}]
      class-path: {class_path}
    ways:
      stock: {{dfs.client.read.shortcircuit: "false"}}
      short-circuit: {{dfs.client.read.shortcircuit: "true"}}
      vread:
        dfs.client.read.shortcircuit: "false"
        fs.hdfs.impl: io.vread.hdfs.VreadFileSystem
        io.vread.endpoint: {endpoint}
        io.vread.timeout.ms: "60000"
        io.vread.compete: "false"
    loads: {{2vms: }}
    places: {{local: {{files: /bench, datanodes: [{addresses}]}}}}
    images: {{raw: }}
    cpu:
      datanode: [{datanodes}]
      host: [{{host: me, pid: {vreadd}}}]
"""


@pytest.fixture
def real(bench):
    """A cluster with vreadd, and the bench's files for it."""
    sockets = tempfile.mkdtemp(prefix="vread-bench-", dir="/run")  # nobody else may write there
    conf = {"dfs.client.read.shortcircuit": "true", "dfs.domain.socket.path": f"{sockets}/dn._PORT"}
    cluster = HdfsCluster(
        bench.folder / "hdfs",
        block_size=BLOCK,
        conf=conf,
        class_path=[JAR],
        datanodes=len(DISKS),
        live=True,
        disks=DISKS,
        java_options=[f"-Djava.library.path={libhadoop_dir()}"],
    )
    try:
        with cluster, Vreadd(cluster.served()) as vreadd:
            bench.spec.write_text(SPEC)
            lib = hadoop_class_path(cluster.version)
            text = TARGETS.format(
                folder=bench.folder,
                libhadoop=libhadoop_dir(),
                class_path=f"{JAR}:{cluster.conf_dir}:{lib}/*",
                endpoint=vreadd.endpoint,
                addresses=", ".join(f'"{datanode.address}"' for datanode in cluster.datanodes),
                datanodes=", ".join(
                    f"{{host: me, pid: {cluster.pids[n]}}}" for n in ("dn1", "dn2")
                ),
                vreadd=vreadd.pid,
            )
            bench.targets.write_text(text)
            yield cluster, bench
    finally:
        shutil.rmtree(sockets)


def test_a_run_on_a_real_hdfs(real):
    cluster, bench = real
    done = bench.call("prepare", "--targets", bench.targets, bench.spec)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"here: local: 3 files, {3 * SIZE} bytes\n"
    files_are_spread(cluster)
    cluster.sync()
    done = bench.run()
    assert done.returncode == 0, done.stderr
    records = bench.result()["raw"]
    assert len(records) == 3 * 5
    for record in records:
        check_round(record)
    wrong_bytes_are_told(bench)


def files_are_spread(cluster):
    """The first file is on the first DataNode, a block on each disk; the second on the second."""
    for number, disks in enumerate(DISKS):
        blocks = cluster.blocks(f"/bench/{SIZE}-{DEFAULT_SEED}-{number}")
        assert len(blocks) == SIZE // BLOCK
        found = {storage for block in blocks for storage in block.storage_ids}
        assert found == set(cluster.datanodes[number].storage_ids()) and len(found) == disks


def check_round(record):
    workload, request, readers, way = record["cell"].split("/")[5:]
    size = {"pread": READERS * 50 * 65536, "pread-4k": 50 * 4096}.get(workload, READERS * SIZE)
    assert record["bytes"] == record["checked_bytes"] == size
    assert record["seconds"] > 0
    rates = record["reader_rates"]
    assert len(rates) == int(readers.removesuffix("r"))
    # All readers read equally much, so the slowest one's time is that of the round.
    assert min(rates) == pytest.approx(size / len(rates) / record["seconds"], rel=0.001)
    times = record["latency_us"]
    assert 0 < times["p50"] <= times["p90"] <= times["p99"] <= times["p999"] <= times["max"]
    cookie = zlib.decompress(base64.b64decode(record["histogram"])[8:])[:4]
    assert cookie[:3] == b"\x1c\x84\x93"  # HdrHistogram's V2 encoding
    way = "stock" if workload == "write" else way.replace("-", "_")
    assert record["bytes_by"] == {"stock": 0, "vread": 0, "short_circuit": 0} | {way: size}
    assert record["reasons"] == {}
    cpu = record["cpu_seconds"]
    assert cpu["client"] > 0 and cpu["network"] is None
    assert cpu["datanode"] >= 0 and cpu["host"] >= 0


def wrong_bytes_are_told(bench):
    """One digest is not that of the file's bytes any more: every read round must say so."""
    (digests,) = Path(bench.folder / "client" / "digests" / "bench").glob("*-0")
    content = bytearray(digests.read_bytes())
    content[16 + 4 * 700] ^= 1
    digests.write_bytes(content)
    bench.out.unlink()
    reads = SPEC.replace("[sequential, re-read, pread, write]", "sequential")
    bench.spec.write_text(reads.replace("workloads: pread-4k", "workloads: re-read"))
    done = bench.run()
    assert done.returncode == 2, done.stderr
    first = 700 * 4096
    for record in bench.result()["raw"]:
        assert record["wrong"].endswith(f"bytes {first}..{first + 4095} are wrong")
        assert "bytes" not in record
