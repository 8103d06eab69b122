# SPDX-License-Identifier: GPL-2.0-or-later
"""Class data archives of Hadoop: they halve the CPU time that an HDFS daemon or FsShell needs to
start, most of which the JVM spends on parsing and verifying 9,000 classes.

    lib = archived_class_path(version)    # folder of the jars; makes their archive if need be
    jvm.java_command(f"{lib}/*", ...)     # uses the archive

Which classes to archive is found out once, by a short-lived cluster of the default version.  The
list also serves the other versions; the JVM skips the few classes that they lack.  The archive
lies beside the folder of the jars.  classes.key names what the archive was made from: the jars,
their place, the JVM and this recipe.
"""

import contextlib
import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.hdfs import jvm
from tools.hdfs.artifacts import DEFAULT_VERSION, REPOSITORY, hadoop_class_path

CLASSES = REPOSITORY / "build" / "hadoop" / "classes"  # the list
TRAINING_BLOCK = 1 << 20


def archived_class_path(version=DEFAULT_VERSION):
    lib = hadoop_class_path(version)
    archive, stamp = lib.with_name(jvm.ARCHIVE), lib.with_name("classes.key")
    key = _key(lib)
    with _locked(lib.with_name("classes.lock")):
        if not (archive.exists() and stamp.exists() and stamp.read_text() == key):
            stamp.unlink(missing_ok=True)
            _dump(lib, archive)
            stamp.write_text(key)
    return lib


def _key(lib):
    java = subprocess.run([jvm.program(), "-version"], capture_output=True, text=True)
    text = f"{lib}\n{(lib.parent / 'key').read_text()}\n{java.stderr}\n{Path(__file__).read_text()}"
    return hashlib.sha256(text.encode()).hexdigest()


def _dump(lib, archive):
    classes = _class_list()
    print(f"hadoop {lib.parent.name}: archiving classes", file=sys.stderr, flush=True)
    fresh = archive.with_suffix(".new")
    command = [jvm.program(), "-Xshare:dump", f"-XX:SharedClassListFile={classes}"]
    command += [f"-XX:SharedArchiveFile={fresh}", "-cp", f"{lib}/*"]
    jvm.run(command, "java -Xshare:dump")
    fresh.replace(archive)


def _class_list():
    with _locked(CLASSES.with_name("classes.lock")):
        if not CLASSES.exists():
            _train()
    return CLASSES


def _train():
    """Runs a NameNode, a DataNode and clients, and writes the list of classes that they load."""
    from tools.hdfs.cluster import HdfsCluster  # which imports this module

    class Plain(HdfsCluster):
        def _jars(self):
            return hadoop_class_path(self.version)

    with tempfile.TemporaryDirectory(prefix="vread-classes-") as folder:
        folder = Path(folder)
        file = folder / "file"
        file.write_bytes(os.urandom(2 * TRAINING_BLOCK))
        lists = folder / "lists"
        lists.mkdir()
        options = [f"-XX:DumpLoadedClassList={lists}/%p"]
        with Plain(folder / "hdfs", block_size=TRAINING_BLOCK, java_options=options) as cluster:
            cluster.put(file, "/file")
            cluster.append(file, "/file")
            cluster.get("/file", folder / "back")
            cluster.jmx("dn1", "Hadoop:service=DataNode,name=DataNodeInfo")
        found = {line: None for each in sorted(lists.iterdir()) for line in each.open()}
        fresh = CLASSES.with_suffix(".new")
        fresh.write_text("".join(found))
        fresh.rename(CLASSES)


@contextlib.contextmanager
def _locked(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
