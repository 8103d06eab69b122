# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a class of Hadoop's own tests, as stock or through vRead's plug-ins (tests/hdfs/upstream).

    stock = run_class("hdfs.TestPread", folder / "stock", by_vread=False, version="3.5.0")
    vread = run_class("hdfs.TestPread", folder / "vread", by_vread=True, version="3.5.0")
    stock.verdicts["testMaxOutHedgedReadPool"]    # "passed", "failed", "skipped" or "unfinished"

Each run is a JVM of its own.  The class starts MiniDFSClusters, as many as it likes, in that JVM.
Their files, and all temporary files, are in a new ext4 on a loop-mounted image.  A vreadd that is
started anew serves the image: each datanode of the class tells it its data directories.  So vreadd
meets clusters that are formatted, restarted and wiped as the class wants.
"""

import contextlib
import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.hadoop_client import JAR, vread_properties
from tests.support.java_classes import REPOSITORY, compiled_java
from tools.hdfs import config, jvm, upstream_class_path
from tools.hdfs.class_archive import archived_class_path
from tools.images import LiveDisk, MountSpace
from tools.vreadd import Vreadd

SOURCES = REPOSITORY / "tests" / "hdfs" / "upstream" / "java"
RUNNER = "io.vread.upstream.Runner"
DISK_MIB = 4096  # sparse
HEAP_MIB = 2048
FOLDER = "/test"  # of the clusters, in the file system of the image
# The settings of Hadoop's own build (hdfs-site.xml of its test resources, which no jar has).
STOCK = {
    "hadoop.security.authentication": "simple",
    "dfs.namenode.fs-limits.min-block-size": "0",
    "test.SymlinkEnabledForTesting": "true",
}
PUBLISHING = {
    "dfs.client.replica.accessor.builder.classes": "io.vread.upstream.PatientBuilder",
    "dfs.datanode.fsdataset.factory": "io.vread.upstream.ServedFactory",
    # The tools that spoil replicas.  Hadoop makes the property's name of the factory's.
    "io.vread.upstream.ServedTestUtilsFactory": "io.vread.datanode.TestTools",
}
# What HDFS promises to the tests of file system contracts; in Hadoop's build, contract/hdfs.xml.
PROMISES = (
    "test.root-tests-enabled",
    "is-case-sensitive",
    "supports-append",
    "supports-atomic-directory-delete",
    "supports-atomic-rename",
    "supports-block-locality",
    "supports-concat",
    "supports-seek",
    "rejects-seek-past-eof",
    "supports-strict-exceptions",
    "supports-unix-permissions",
    "rename-returns-false-if-dest-exists",
    "rename-returns-false-if-source-missing",
    "supports-settimes",
    "supports-getfilestatus",
    "supports-file-reference",
    "supports-content-check",
    "supports-unbuffer",
)


@dataclass(frozen=True)
class ClassRun:
    """verdicts: of each method, and of "(class)" if its common part failed.  reasons: first lines
    of what failed.  statistics: the plug-in's, if the class read anything through the builder."""

    verdicts: dict
    reasons: dict
    log: Path
    statistics: dict = field(default_factory=dict)

    @property
    def bytes(self):
        return self.statistics.get("vread", {}).get("bytes", 0)


def run_class(name, folder, by_vread, version, left_out=()):
    """name: without "org.apache.hadoop.".  left_out: methods that are not run."""
    folder = Path(folder)
    folder.mkdir(parents=True)
    disk = LiveDisk(folder / "disk.raw", folder / "disk", table="none", mib=DISK_MIB)
    with contextlib.ExitStack() as stack:
        stack.callback(disk.path.unlink, missing_ok=True)
        space = stack.enter_context(MountSpace())
        disk.attach(space)
        stack.callback(disk.detach)
        (disk.view / FOLDER.lstrip("/")).mkdir()
        properties = STOCK | {"hadoop.tmp.dir": folder / "tmp"}
        statistics = folder / "statistics.json"
        if by_vread:
            vreadd = stack.enter_context(Vreadd({}, publish=["*"]))
            properties |= vread_properties(
                vreadd.endpoint, timeout_ms=60_000, statistics_file=statistics
            )
            properties |= PUBLISHING | _served(vreadd, disk)
        _configure(folder / "conf", properties)
        verdicts = folder / "verdicts"
        words = [str(verdicts), f"org.apache.hadoop.{name}", *left_out]
        command = _java(folder, version, words, f"{disk.mount_point}{FOLDER}")
        _run([*space.enter, *command], folder)
    return _read(verdicts, statistics, folder / "log")


def _served(vreadd, disk):
    """What ServedFactory needs to know."""
    told = {
        "mount-point": disk.mount_point,
        "image": disk.path,
        "config": vreadd.config_path,
        "control-socket": vreadd.control_socket,
    }
    return {f"io.vread.upstream.{name}": value for name, value in told.items()}


def _configure(folder, properties):
    config.write_site(folder, properties)
    contract = config.site({f"fs.contract.{promise}": "true" for promise in PROMISES})
    (folder / "contract").mkdir()
    (folder / "contract" / "hdfs.xml").write_text(contract)


def _java(folder, version, words, data):
    jars = f"{archived_class_path(version)}/*"
    tests = f"{upstream_class_path(version)}/*"
    classes = compiled_java(
        SOURCES, lambda: f"{jars}:{tests}:{JAR}", f"upstream-{version}", version
    )
    return jvm.java_command(
        f"{folder / 'conf'}:{classes}:{JAR}:{jars}:{tests}",
        RUNNER,
        words,
        heap_mib=HEAP_MIB,
        options=[
            *jvm.SHORT_LIVED,
            f"-Dtest.build.data={data}",
            f"-Djava.io.tmpdir={data}",
            "-Dnet.bytebuddy.experimental=true",  # this Mockito is older than the JVM
        ],
    )


def _run(command, folder):
    """The whole test has a time limit."""
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, env=dict(os.environ),
        )  # fmt: skip
        try:
            process.wait()
        finally:
            process.kill()
            process.wait()


def _read(path, statistics, log):
    verdicts, reasons = {}, {}
    for line in path.read_text(errors="replace").splitlines():
        verdict, method, reason = line.split("\t", 2)
        verdicts[method] = "unfinished" if verdict == "began" else verdict
        if reason:
            reasons[method] = reason
    counted = json.loads(statistics.read_text()) if statistics.exists() else {}
    return ClassRun(verdicts, reasons, log, counted)
