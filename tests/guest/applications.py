# SPDX-License-Identifier: GPL-2.0-or-later
"""A bed for real applications in a client guest that read stock HDFS by vRead, and TestDFSIO, which
runs on every hypervisor.  tests/xen/test_applications.py and tests/kvm/test_applications.py import
them.

A module that does so has the fixture bed, a Bed with blocks of 1 MiB.
"""

import hashlib
import time
from contextlib import contextmanager
from dataclasses import dataclass, field

from tools.hdfs import config
from tools.lab import hadoop
from tools.lab.applications import Application
from tools.lab.hadoop_guests import CONF, METRICS_AGE

ACTIVITY = "Hadoop:service=DataNode,name=DataNodeActivity*"
# A job's FileSystem is of its own, with the configuration of the moment.
UNSHARED = {"fs.hdfs.impl.disable.cache": "true"}
BLOCK_MIB = 1
MIB = 1 << 20
DFSIO_FILES = 4
DFSIO = ["org.apache.hadoop.fs.TestDFSIO", "-Dtest.build.data=/dfsio", "-resFile", "/dev/null"]
DFSIO += ["-nrFiles", DFSIO_FILES, "-size", "1MB", "-bufferSize", MIB]
DFSIO_BYTES = bytes(MIB)  # TestDFSIO writes zeros into each file


@dataclass
class Read:
    """What was read between two moments.  Bytes: that vreadd gave to the client, that the plug-in
    gave to the application, and that the DataNode sent."""

    given: int = 0
    got: int = 0
    sent: int = 0
    reasons: dict = field(default_factory=dict)  # why the stock client read, and how often

    def __str__(self):
        share = self.got / (self.got + self.sent) if self.got + self.sent else 0
        return f"{share:.2%} by vRead: {self.got} of {self.got + self.sent} bytes, {self.reasons}"


class Bed:
    """HDFS with a shell, and the client in which applications run."""

    def __init__(self, hdfs, backend, shell):
        self.hdfs, self.backend, self._shell = hdfs, backend, shell
        self.client = hdfs.client
        # Blocks that were written while the host's state was made are not published again.
        self._unpublished = self._written() - hdfs.published()

    def put(self, folder, path):
        """Writes a local folder's files to HDFS and waits until their blocks are published."""
        here = f"/run/data{path}"
        files = (file for file in folder.rglob("*") if file.is_file() and file.suffix != ".crc")
        for file in sorted(files):
            self.client.put(file, f"{here}/{file.relative_to(folder)}")
        assert self._shell.run(f"-put {here} {path}")["status"] == 0, self._shell.complaints
        self.client.run(["rm", "-r", here]).check()
        self.wait_published()

    def wait_published(self):
        """Waits until all finalized blocks are published."""
        self.hdfs.wait_published(self._written() - self._unpublished)

    def configure(self, properties):
        """Sets the configuration of the client's jobs."""
        for name in ("core-site.xml", "hdfs-site.xml"):
            text = config.site(self.hdfs.properties | properties)
            self.client.run(f"cat >{CONF}/{name}", stdin=text.encode()).check()

    def _written(self):
        """How many blocks the DataNode has finalized."""
        time.sleep(METRICS_AGE)
        return self.hdfs.jmx("datanode", ACTIVITY)["BlocksWritten"]

    @contextmanager
    def reading(self, program, what):
        """Yields a Read, which is complete at the end of the context."""
        read = Read()
        before = self._counts(program)
        began = time.monotonic()
        yield read
        seconds = time.monotonic() - began
        after = self._counts(program)
        read.given, read.got, read.sent = (
            after[name] - before[name] for name in ("given", "got", "sent")
        )
        read.reasons = {
            reason: count - before["reasons"].get(reason, 0)
            for reason, count in after["reasons"].items()
            if count > before["reasons"].get(reason, 0)
        }
        print(f"{what}: {seconds:.0f} s, {read}", flush=True)

    def _counts(self, program):
        told = program.ask("statistics")
        vread = told.get("vread", {"bytes": 0, "reasons": {}})
        failed = {f"failed: {reason}": n for reason, n in vread["reasons"].items()}
        return {
            "given": self.backend.bytes_read(self.client),
            "got": vread["bytes"],
            "sent": self.hdfs.bytes_served(),
            "reasons": told.get("fallback", {}).get("reasons", {}) | failed,
        }


def digest_of(files):
    """What HadoopJobs.java tells of a folder with these files."""
    digest = hashlib.sha256()
    for name, content in files.items():
        digest.update(name.encode() + content)
    return digest.hexdigest()


NOT_YET = {"ENOENT", "ENODATA"}


def all_by_vread(read):
    assert read.given >= read.got > 0, read
    assert read.sent == 0 and not read.reasons, read


def nearly_all_by_vread(read):
    """As all_by_vread(), of a program that also reads small files right after it wrote them.  The
    host may not see such a file's last block yet."""
    assert read.given >= read.got > 0, read
    assert read.reasons.keys() <= NOT_YET, read
    assert read.sent == 0 or read.reasons, read
    assert read.sent <= read.got / 100, read


def test_dfsio(bed):
    """TestDFSIO under the local runner: writes, reads, and reads again."""
    bed.configure(UNSHARED | hadoop.READER)
    with Application(bed.client, "jobs") as jobs:
        with bed.reading(jobs, "dfsio write") as read:
            jobs.ask("tool", *DFSIO, "-write")
        assert read.reasons.keys() <= NOT_YET, read  # it reads what it has just written
        bed.wait_published()
        for what in ("read", "read again"):
            with bed.reading(jobs, f"dfsio {what}") as read:
                jobs.ask("tool", *DFSIO, "-read")
            nearly_all_by_vread(read)
            assert read.got >= DFSIO_FILES * MIB, read
        bed.configure(UNSHARED)  # the results are read by TCP
        written = {f"test_io_{number}": DFSIO_BYTES for number in range(DFSIO_FILES)}
        assert jobs.ask("digest", "/dfsio/io_data")["digest"] == digest_of(written)
