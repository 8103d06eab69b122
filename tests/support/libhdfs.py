# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs programs that reach HDFS through libhdfs, that is, with a JVM in a process that is no JVM.

    programs = LibhdfsPrograms(cluster, vreadd, directory)
    got = programs.run([program, ...], vread=True, properties={...})
    got.content, got.statistics, got.log

A program writes the bytes it read to standard output, closes standard output, and waits for the end
of its standard input.  In the meantime the plug-in's statistics are read.  Configuration files on
the class path tell the program about HDFS and vRead.
"""

import contextlib
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.waiting import eventually
from tools.hdfs import HdfsCluster, config, hadoop_class_path, jvm
from tools.hdfs.native_code import java_home, libhdfs_dir
from tools.hdfs.plug_in import READER
from tools.vreadd import REPOSITORY, DataDirs, Vreadd

JAR = REPOSITORY / "build" / "java" / "vread-hdfs.jar"
NOT_LOADED = "Unable to load io.vread.hdfs.VreadReplicaAccessorBuilder"
RUN_TIMEOUT = 120


@dataclass
class Run:
    content: bytes
    statistics: dict | None  # None: the plug-in was not loaded
    log: str


class LibhdfsPrograms:
    def __init__(self, cluster, vreadd, directory):
        self._cluster, self._vreadd = cluster, vreadd
        self._directory = Path(directory)

    def run(self, command, vread, properties=None):
        """Waits until the statistics show that vRead read all bytes, or the program ends."""
        folder = Path(tempfile.mkdtemp(dir=self._directory))
        environment = os.environ | self._environment(folder, vread, properties or {})
        with (
            open(folder / "log", "wb") as log,
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment
            ) as process,
        ):
            content = process.stdout.read()
            statistics = self._statistics(process, folder, len(content)) if vread else None
            process.stdin.close()
            code = process.wait(RUN_TIMEOUT)
        text = (folder / "log").read_text(errors="replace")
        assert code == 0, text[-3000:]
        return Run(content, statistics, text)

    def opens(self):
        """How many blocks were opened through vreadd so far."""
        return self._vreadd.status()["totals"]["opens"]

    def _environment(self, folder, vread, properties):
        if vread:
            vread = {
                "io.vread.endpoint": self._vreadd.endpoint,
                "io.vread.timeout.ms": 60_000,  # a busy machine is slow
                "io.vread.statistics.file": folder / "statistics",
            }
            properties = READER | vread | properties
        # Hadoop takes the first file of each name: ours, but the cluster's core-site.xml.
        config.write_site(folder / "conf", properties)
        (folder / "conf" / "core-site.xml").unlink()
        lib = hadoop_class_path(self._cluster.version)
        entries = [folder / "conf", JAR, self._cluster.conf_dir, f"{lib}/*"]
        class_path = ":".join(map(str, entries))
        java = jvm.java_command(class_path, "", log_level="WARN", options=jvm.SHORT_LIVED)
        *options, _, class_path, _ = java[1:]
        return {
            "CLASSPATH": class_path,
            "LIBHDFS_OPTS": " ".join(options),
            "JAVA_HOME": str(java_home()),
            "ARROW_LIBHDFS_DIR": str(libhdfs_dir()),
        }

    @staticmethod
    def _statistics(process, folder, size):
        """The statistics of all bytes read, or the last ones before the program ended.  None:
        Hadoop says that it has no plug-in, and there is no file."""
        found = None

        def are_final():
            nonlocal found
            with contextlib.suppress(FileNotFoundError):
                found = json.loads((folder / "statistics").read_text())
            if not found:
                not_loaded = NOT_LOADED in (folder / "log").read_text(errors="replace")
                return not_loaded or process.poll() is not None
            # The plug-in takes the bytes of vRead first, so they may be a moment older.
            of_all = found["vread"]["bytes"] >= found["hdfs"]["bytes"] >= size
            return of_all or process.poll() is not None

        eventually(are_final, what=lambda: f"statistics of {size} bytes: {found}")
        return found


def build_c_program(source, directory):
    """Compiles a C program that uses libhdfs and JNI."""
    home = java_home()
    jvm_dir, hdfs_dir = home / "lib" / "server", libhdfs_dir()
    program = Path(directory) / Path(source).stem
    command = ["gcc", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-pthread"]
    command += [f"-I{path}" for path in (hdfs_dir, home / "include", home / "include/linux")]
    command += [source, "-o", program, f"-L{hdfs_dir}", "-lhdfs", f"-L{jvm_dir}", "-ljvm"]
    subprocess.run([*command, f"-Wl,-rpath,{hdfs_dir}:{jvm_dir}"], check=True)
    return program


@contextlib.contextmanager
def programs_on_a_live_image(directory, content, path):
    """LibhdfsPrograms with an HDFS that holds the content in a file of three blocks and a bit."""
    block_size = len(content) // 3 // 512 * 512
    local = Path(directory) / "local"
    local.write_bytes(content)
    cluster = HdfsCluster(Path(directory) / "hdfs", block_size=block_size, live=True)
    with cluster:
        cluster.put(local, path)
        cluster.sync()
        (datanode,) = cluster.datanodes
        served = {"dn1": DataDirs(datanode.disk.path, datanode.paths_on_disk)}
        with Vreadd(served, variant="asan") as vreadd:
            yield LibhdfsPrograms(cluster, vreadd, directory)
