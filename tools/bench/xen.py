# SPDX-License-Identifier: GPL-2.0-or-later
"""The Xen suite: vRead beside what it replaces, on one emulated host.

A file of real HDFS blocks lies on a datanode's disk (made once and kept).  Every round runs, one
right after the other, each reading the whole file once into 1 MiB buffers:

    xen.vread.seq      /dev/vread in the client domU; vreadd started anew, so all is verified
    xen.vread.reread   the same once more
    xen.vanilla.seq    the datanode domU's disk through blkfront, sendfile, netback, bridge and
                       netfront to the client domU; cold
    xen.blkfront.seq   the first half of that: the datanode domU reads its disk; cold
    xen.netback.seq    the second half: as many bytes out of the datanode domU's memory

    xen.hdfs.tcp.seq   a stock HDFS client in a domU, NameNode and DataNode in two others
    xen.hdfs.vread.seq the same client, with vRead by configuration (both: xen_hdfs.py)

The vanilla path has no Hadoop in it: no Java, no packets, no checksums; vRead verifies.  CPU time
is that of all domains, dom0 included.  Before the rounds both ways must give the file's SHA-256,
or nothing is measured.  One emulated processor runs everything, so compare rates, do not quote
them.
"""

import json

from tools.bench import results, xen_hdfs
from tools.bench.results import Row, Target
from tools.bench.suite import BenchError, Suite
from tools.bench.vanilla import READ_TIMEOUT, Vanilla, guest_files, timed
from tools.hdfs.demo_data import demo_image
from tools.lab import LabError, XenHost, deployment, product
from tools.lab.paths import REPOSITORY

VARIANT = "release"
REQUEST = 1 << 20
VREADBENCH = "/usr/local/bin/vreadbench"
CLIENT_ADDRESS = "10.77.0.102"
TARGETS = (Target("xen.vread.seq", "xen.vanilla.seq", at_least=3.0), *xen_hdfs.TARGETS)


def run(mib, block_mib, rounds):
    """Measures; the document that results.write() takes."""
    data = demo_image(mib=mib, block_mib=block_mib)
    host = XenHost(
        "bench",
        disks=[data.image],
        files=product.dom0_files(VARIANT),
        guest_files=product.guest_files(VARIANT),
        progress=lambda text: SUITE.say(text),
    )
    with host:
        bench = _Bench(host, data)
        bench.check_agreement()
        for number in range(1, rounds + 1):
            SUITE.say(f"round {number} of {rounds}")
            bench.round()
        host.check_dmesg()
    with_hadoop = xen_hdfs.measure(mib, block_mib, rounds, VARIANT, REQUEST, SUITE.say)
    conditions = {
        "emulated_cpus": 1,
        "bytes": data.size,
        "block_bytes": block_mib << 20,
        "request_bytes": REQUEST,
        "page_cache": "of the datanode domU: cold; vreadd reads the disk with O_DIRECT",
        "checksums": "verified by vRead in xen.vread.seq and in the first round of"
        " xen.hdfs.vread.seq, by the client in xen.hdfs.tcp.seq, by nobody in the others",
        "cpu": "all domains",
        "ratio": "median of the rounds' ratios",
    }
    rows = [*bench.rows.values(), *with_hadoop]
    return results.document("xen", rows, TARGETS, conditions)


class _Bench:
    NAMES = (
        "xen.vread.seq",
        "xen.vread.reread",
        "xen.vanilla.seq",
        "xen.blkfront.seq",
        "xen.netback.seq",
    )

    def __init__(self, host, data):
        self.host, self.data = host, data
        self.rows = {name: Row(name) for name in self.NAMES}
        self.backend = deployment.Backend(
            host, {"dn1": deployment.Datanode("/dev/vda", data.layout)}
        )
        self.backend.start()
        SUITE.say("starting the client domU")
        self.client = deployment.start_client(
            self.backend,
            "client",
            data.blocks_file,
            memory_mib=256,
            vifs=[CLIENT_ADDRESS],
            files=guest_files() | {VREADBENCH: REPOSITORY / "build" / VARIANT / "vreadbench"},
        )
        SUITE.say("starting the datanode domU")
        self.vanilla = Vanilla(host, self.client, data)

    def check_agreement(self):
        SUITE.say("comparing digests")
        for name, digest in (
            ("vRead", deployment.file_digest(self.client)),
            ("vanilla", self.vanilla.digest()),
        ):
            if digest != self.data.sha256:
                raise BenchError(f"{name} gives SHA-256 {digest}, the file's is {self.data.sha256}")

    def round(self):
        self._restart_vreadd()
        self._add("xen.vread.seq", timed(self.host, self._vread))
        self._add("xen.vread.reread", timed(self.host, self._vread))
        self._add("xen.vanilla.seq", self.vanilla.fetch())
        self._add("xen.blkfront.seq", self.vanilla.read_disk())
        self._add("xen.netback.seq", self.vanilla.fetch_memory())

    def _restart_vreadd(self):
        """Restarts vreadd, so that it has nothing cached or verified."""
        self.backend.stop()
        self.backend.start()
        self.backend.wait_connected(self.client)

    def _vread(self):
        command = f"{VREADBENCH} -e /dev/vread -a read -r {REQUEST} < {deployment.BLOCKS}"
        return json.loads(self.client.text(command, READ_TIMEOUT))

    def _add(self, name, measured):
        if measured["bytes"] != self.data.size:
            raise BenchError(f"{name}: {measured['bytes']} bytes were read of {self.data.size}")
        self.rows[name].add(measured["bytes"], measured["seconds"], sum(measured["cpu"].values()))


SUITE = Suite(
    "xen",
    __doc__,
    mib=256,
    block_mib=32,
    rounds=5,
    least_rounds=3,
    measure=run,
    failures=(LabError,),
)
