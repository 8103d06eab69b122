# SPDX-License-Identifier: GPL-2.0-or-later
"""A read-only disk with applications for a guest, beside the Java disk (java_disk.py): Spark,
MapReduce and DistCp, HBase, and Python with pyarrow.  applications.py runs them.

They are those of the native bench (tools/bench/apps), which says where their jars come from.

    jre/, syslib/      Java with more modules than on the Java disk, and shared libraries
    NAME/*.jar         of an application of Java, with the bench's program
    NAME/class-path    these jars in the order of the archive, relative to the disk's root
    NAME/classes.jsa   class data archive
    NAME/options       of the JVM
    python/            Python, pyarrow and libhdfs; libhdfs starts the Java disk's Java

An archive holds the classes that the application loaded when its commands ran here, natively, on a
short-lived HDFS.
"""

import os
import shutil
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.bench.apps import arrow, hbase, jars, program
from tools.hdfs import HdfsCluster, config, hadoop_class_path, jvm, mapreduce_class_path
from tools.hdfs.native_code import PYARROW, libhdfs_dir, pyarrow_dir
from tools.hdfs.ports import free_ports

from .cache import cached, key_of
from .java_disk import add_libraries, add_runtime, java_home, make_file_system, run
from .paths import LabError

MODULES = (
    "java.se jdk.unsupported jdk.management jdk.security.auth jdk.security.jgss jdk.zipfs jdk.net"
).split()
TERASORT = "org.apache.hadoop.examples.terasort"
DFSIO = "tool org.apache.hadoop.fs.TestDFSIO -nrFiles 2 -size 1MB -resFile /dev/null"
FACTS = "SELECT id, note FROM facts WHERE amount BETWEEN 1000 AND 1999"
JOIN = "SELECT names.name, count(*), max(note) FROM facts JOIN names ON facts.k = names.k"
TRAINING_BLOCK = 1 << 20
TRAINING_TIMEOUT = 600
# What pyarrow's package has beside what Python imports.
NOT_IMPORTED = shutil.ignore_patterns("include", "includes", "src", "tests", "*flight*", "*.pxd")
PYTHON_LEFT_OUT = shutil.ignore_patterns(
    "config-*", "dist-packages", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "test",
    "tkinter", "__pycache__", "turtledemo",
)  # fmt: skip


@dataclass(frozen=True)
class JavaApplication:
    """training: commands of its program, natively, before the archive is made.  relocated: the JVM
    moves the archive at its start.  That is needed if there are class files of before Java 6, as of
    protobuf-java 2.5: HotSpot 17 rewrites their code, and maps it read-only where the archive is
    not moved.  The JVM then ends by SIGSEGV in Rewriter::Rewriter."""

    name: str
    sources: tuple[str, ...]
    training: tuple[str, ...]
    heap_mib: int = 512
    relocated: bool = False

    @property
    def main(self) -> str:
        return self.sources[0].removesuffix(".java")

    def jars(self) -> list[Path]:
        folders = [jars.jars(self.name)]
        if self.name == "jobs":
            folders += [hadoop_class_path(), mapreduce_class_path()]
        return sorted(jar for folder in folders for jar in folder.glob("*.jar"))


SPARK = JavaApplication(
    "spark",
    ("SparkJobs.java",),
    ("make /t 2000", "open /t", "set spark.x y", "unset spark.x")
    + ("query SELECT count(*), sum(length(note)) FROM facts", f"query {FACTS}")
    + (f"query {JOIN} GROUP BY names.name", "query SELECT * FROM users WHERE id < 9", "digest"),
)
JOBS = JavaApplication(
    "jobs",
    ("HadoopJobs.java",),
    (
        f"tool {TERASORT}.TeraGen -Dmapreduce.job.maps=2 1000 /a",
        f"tool {TERASORT}.TeraSort -Dmapreduce.job.reduces=2 /a /b",
        f"tool {TERASORT}.TeraValidate /b /c",
        f"{DFSIO} -write",
        f"{DFSIO} -read",
        "distcp -m 2 /a /d",
        "text /c/part-r-00000",
        "digest /d",
        "delete /d",
    ),
)
HBASE = JavaApplication(
    "hbase",
    ("HBaseServer.java", "HBaseClient.java"),
    ("start", "digest hbase:meta", "stop"),
    relocated=True,
)
APPLICATIONS = (SPARK, JOBS, HBASE)


def application_disk() -> Path:
    """The image: an ext4 file system without a journal and without a partition table."""
    home = java_home()
    found = [path for each in APPLICATIONS for path in each.jars()]
    inputs = [f"{path.name} {path.stat().st_size}".encode() for path in found]
    inputs += [PYARROW.encode(), (home / "release").read_bytes()]
    sources = [*program.SOURCES.glob("*.java"), arrow.PROGRAM, Path(__file__)]
    inputs += [path.read_bytes() for path in sorted(sources)]
    return cached("applications", ".ext4", key_of(inputs), lambda path: _make(path, home))


def _make(image: Path, home: Path) -> None:
    with tempfile.TemporaryDirectory(dir=image.parent, prefix=".applications-") as folder:
        scratch = Path(folder)
        root = scratch / "root"
        root.mkdir()
        add_runtime(root, home, MODULES)
        for application in APPLICATIONS:
            _add_jars(root, application)
        with HdfsCluster(scratch / "hdfs", block_size=TRAINING_BLOCK) as cluster:
            properties = hbase.site(f"{cluster.uri}/hbase", scratch / "tmp", free_ports(3))
            (cluster.conf_dir / "hbase-site.xml").write_text(config.site(properties))
            for application in APPLICATIONS:
                _add_archive(root, scratch, application, cluster)
        _add_python(root)
        make_file_system(image, root, "applications")


def _add_jars(root: Path, application: JavaApplication) -> None:
    folder = root / application.name
    folder.mkdir()
    found = application.jars()
    for jar in found:
        shutil.copy2(jar, folder)
    with tempfile.TemporaryDirectory() as classes:
        sources = [program.SOURCES / name for name in ("Commands.java", *application.sources)]
        run(["javac", "-nowarn", "-d", classes, "-cp", f"{folder}/*", *sources])
        run(["jar", "cf", folder / "program.jar", "-C", classes, "."])
    names = ["program.jar", *(jar.name for jar in found)]
    text = ":".join(f"{application.name}/{name}" for name in names)
    (folder / "class-path").write_text(f"{text}\n")
    opened = [f"java.base/java.{name}" for name in jvm.OPENED] + ["java.base/sun.nio.ch"]
    options = [f"--add-opens={name}=ALL-UNNAMED" for name in (*opened, *program.OPENED)]
    options += [f"-Xmx{application.heap_mib}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    options += ["-XX:-UsePerfData", "-Djava.net.preferIPv4Stack=true"]
    options += ["-XX:+UnlockDiagnosticVMOptions"]
    options += [f"-XX:ArchiveRelocationMode={int(application.relocated)}"]
    (folder / "options").write_text("".join(f"{option}\n" for option in options))


def _add_archive(
    root: Path, scratch: Path, application: JavaApplication, cluster: HdfsCluster
) -> None:
    chosen = scratch / f"{application.name}-classes"
    class_path = (root / application.name / "class-path").read_text().strip()
    java = ["jre/bin/java", f"@{application.name}/options"]
    _train([*java, f"-XX:DumpLoadedClassList={chosen}", "-cp", f"{class_path}:{cluster.conf_dir}",
            "-Dhadoop.root.logger=WARN,console", f"-Dhadoop.tmp.dir={scratch}/tmp",
            application.main, scratch / application.name], application, root)  # fmt: skip
    run(
        ["jre/bin/java", "-Xshare:dump", f"-XX:SharedClassListFile={chosen}"]
        + [f"-XX:SharedArchiveFile={application.name}/classes.jsa", "-cp", class_path],
        cwd=root,
    )


def _train(command: list[str], application: JavaApplication, root: Path) -> None:
    """Runs the training commands in one program."""
    lines = "".join(_line(text) + "\n" for text in application.training)
    done = subprocess.run(
        command, input=lines, cwd=root, capture_output=True, text=True, timeout=TRAINING_TIMEOUT,
        env=os.environ | {"LD_LIBRARY_PATH": ""}, check=False,
    )  # fmt: skip
    answers = done.stdout.splitlines()
    if done.returncode or len(answers) != len(application.training) or '"error"' in done.stdout:
        raise LabError(f"{application.name}: {done.stdout}{done.stderr[-4000:]}")


def _line(text: str) -> str:
    """The command with tabs between its words; SQL is one word."""
    name, _, rest = text.partition(" ")
    return f"{name}\t{rest}" if name == "query" else text.replace(" ", "\t")


def _add_python(root: Path) -> None:
    """Debian's Python, of this machine, and what arrow_program.py imports."""
    library = Path(sysconfig.get_path("stdlib"))
    folder = root / "python"
    (folder / "bin").mkdir(parents=True)
    binary = Path("/usr/bin") / library.name
    shutil.copy(binary, folder / "bin" / "python3")
    shutil.copytree(library, folder / "lib" / library.name, ignore=PYTHON_LEFT_OUT)
    shutil.copytree(pyarrow_dir(), folder / "packages", ignore=NOT_IMPORTED)
    shutil.copy(libhdfs_dir() / "libhdfs.so", folder)
    shutil.copy(arrow.PROGRAM, folder)
    places = [folder / "packages" / "pyarrow", java_home() / "lib" / "server"]
    add_libraries(root, [binary, *folder.rglob("*.so*")], places)
