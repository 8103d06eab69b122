# SPDX-License-Identifier: GPL-2.0-or-later
"""A read-only disk with a Java runtime and stock Hadoop, for guests that run real HDFS.

A guest's root is in memory, which a runtime with Hadoop's jars would fill.  Of a disk only the
pages in use are in memory.  All guests of a host mount the same disk:

    jre/          Java, cut down to the modules Hadoop uses
    syslib/       the shared libraries that Java needs and a guest lacks
    lib/          Hadoop's jars as Maven has them
    classes.jsa   class data archive: an emulated processor takes long to parse and verify classes
    class-path    the jars in the order of the archive, relative to the disk's root
    name/         a NameNode's directory, just formatted

The archive holds the classes that a short-lived HDFS on this machine loaded.  Everything is made
once for given jars and runtime, and kept in the lab's cache.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tools.hdfs import DEFAULT_VERSION, HdfsCluster, hadoop_class_path
from tools.hdfs.config import write_conf_dir

from .cache import cached, key_of
from .paths import LIBRARY, LabError

MODULES = (
    "java.base java.desktop java.instrument java.logging java.management java.naming "
    "java.security.jgss java.security.sasl java.sql java.xml jdk.management "
    "jdk.security.auth jdk.security.jgss jdk.unsupported jdk.zipfs"
).split()
NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
URI = "hdfs://namenode:8020"
TRAINING_BLOCK, TRAINING_BYTES = 1 << 20, 3 << 20
# Libraries for windows and fonts: Hadoop needs java.desktop only for its beans.
GRAPHICS = re.compile(r"lib(awt|font|freetype|jawt|lcms|mlib|splash|jsound|javajpeg)")
FREE = 1.1  # size of the file system over that of its content


def java_disk(version: str = DEFAULT_VERSION) -> Path:
    """The image: an ext4 file system without a journal and without a partition table."""
    jars = hadoop_class_path(version)
    home = java_home()
    inputs = [(jars.parent / "key").read_bytes(), (home / "release").read_bytes()]
    inputs.append(Path(__file__).read_bytes())
    return cached("java", ".ext4", key_of(inputs), lambda path: _make(path, version, jars, home))


def _order(jar: str) -> tuple:
    """Sorts Hadoop's own jars first: most classes that are looked up are there."""
    return not jar.startswith("hadoop-"), jar


def java_home() -> Path:
    for parent in Path(shutil.which("jlink") or "/").resolve().parents:
        if (parent / "jmods").is_dir():
            return parent
    raise LabError("no jlink with jmods beside it: install openjdk-17-jdk-headless (make setup)")


def _make(image: Path, version: str, jars: Path, home: Path) -> None:
    with tempfile.TemporaryDirectory(dir=image.parent, prefix=".java-") as folder:
        scratch = Path(folder)
        root = scratch / "root"
        root.mkdir()
        add_runtime(root, home, MODULES)
        shutil.copytree(jars, root / "lib")
        names = sorted((path.name for path in (root / "lib").glob("*.jar")), key=_order)
        (root / "class-path").write_text(":".join(f"lib/{name}" for name in names) + "\n")
        _add_archive(root, scratch, version)
        _add_name_directory(root, scratch)
        make_file_system(image, root, "java")


def add_runtime(root: Path, home: Path, modules: Iterable[str]) -> None:
    """Adds jre/, of the JDK at `home`, and syslib/."""
    runtime = root / "jre"
    run(
        [home / "bin" / "jlink", "--module-path", home / "jmods", "--output", runtime]
        + ["--add-modules", ",".join(modules), "--strip-debug", "--no-header-files"]
        + ["--no-man-pages"]
    )
    libraries = [p for p in (runtime / "lib").rglob("*.so") if not GRAPHICS.match(p.name)]
    run([runtime / "bin" / "java", "-Xshare:dump"])
    places = [runtime / "lib", runtime / "lib" / "server"]
    add_libraries(root, [runtime / "bin" / "java", *libraries], places)


def add_libraries(root: Path, programs: Iterable[Path], places: Iterable[Path] = ()) -> None:
    """Adds the shared libraries that the programs need to syslib/, without those in the folders
    `places`, where the programs look first."""
    folders = [str(place) for place in places]
    found = run(["ldd", *programs], {"LD_LIBRARY_PATH": ":".join(folders)})
    present = tuple(f"{place}/" for place in places)
    (root / "syslib").mkdir(exist_ok=True)
    for library in sorted(set(LIBRARY.findall(found))):
        if not str(Path(library).resolve()).startswith(present):
            shutil.copy(library, root / "syslib")


def _add_archive(root: Path, scratch: Path, version: str) -> None:
    lists = scratch / "lists"
    lists.mkdir()
    _train(root / "jre", scratch, lists, version)
    classes = {line: None for path in sorted(lists.iterdir()) for line in path.open()}
    chosen = scratch / "classes"
    chosen.write_text("".join(classes))
    _java(
        root,
        ["-Xshare:dump", f"-XX:SharedClassListFile={chosen}"]
        + ["-XX:SharedArchiveFile=classes.jsa", "-cp", _class_path(root)],
    )


def _train(runtime: Path, scratch: Path, lists: Path, version: str) -> None:
    """Runs a NameNode, a DataNode and clients, which write the classes they load to `lists`."""
    file = scratch / "file"
    file.write_bytes(os.urandom(TRAINING_BYTES))
    added = {
        "JAVA_HOME": str(runtime),
        "JAVA_TOOL_OPTIONS": f"-XX:DumpLoadedClassList={lists}/%p",
    }
    before = {name: os.environ.get(name) for name in added}
    os.environ.update(added)
    try:
        cluster = HdfsCluster(scratch / "hdfs", version=version, block_size=TRAINING_BLOCK)
        with cluster:
            cluster.put(file, "/file")
            cluster.sha256("/file")
            cluster.append(file, "/file")
            cluster.fs("-truncate", "-w", TRAINING_BLOCK // 2, "/file")
            cluster.jmx("dn1", "Hadoop:service=DataNode,name=DataNodeInfo")
            cluster.rm("/file")
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _add_name_directory(root: Path, scratch: Path) -> None:
    """Formats the NameNode's directory here: in the emulator it costs one more start of Java."""
    conf = scratch / "conf"
    places = {"fs.defaultFS": URI, "dfs.namenode.name.dir": f"file://{root}/name"}
    write_conf_dir(conf, places | {"dfs.namenode.rpc-address": "127.0.0.1:8020"})
    options = ["-Xmx128m", "-Dhadoop.root.logger=INFO,console"]
    class_path = f"{_class_path(root)}:{conf}"
    _java(root, [*options, "-cp", class_path, NAMENODE, "-format", "-force", "-nonInteractive"])


def make_file_system(image: Path, root: Path, label: str) -> None:
    """Makes an image with an ext4 file system that has the files below `root`."""
    content = sum(path.lstat().st_size + 4096 for path in root.rglob("*"))
    blocks = int(content * FREE / 4096) + 2048
    options = ["-O", "^has_journal", "-m", "0", "-L", label, "-d", root]
    run(["/usr/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", *options, image, str(blocks)])


def _class_path(root: Path) -> str:
    return (root / "class-path").read_text().strip()


def _java(root: Path, arguments: list) -> None:
    run(["jre/bin/java", *arguments], cwd=root)


def run(command: list, environment: dict | None = None, cwd: Path | None = None) -> str:
    """Runs a command; returns its standard output.  LabError: it failed."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        cwd=cwd,
        env=os.environ | (environment or {}),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        raise LabError(f"{' '.join(words[:8])} ...: {(done.stderr or done.stdout)[-2000:].strip()}")
    return done.stdout
