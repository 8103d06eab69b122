# SPDX-License-Identifier: GPL-2.0-or-later
"""Peculiar JVMs that users of other native libraries reported: each reads a block through the
plug-in, or leaves it to Hadoop, and says why."""

import os
import re
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from tests.support.hdfs_dir import DataDirectory
from tests.support.java_classes import compiled_java
from tools.hdfs import DEFAULT_VERSION, hadoop_class_path, shaded_class_path
from tools.images import make_datanode_image, write_layout
from tools.vreadd import Vreadd

pytestmark = pytest.mark.hadoop

REPOSITORY = Path(__file__).parents[2]
JAR = REPOSITORY / "build/java/vread-hdfs.jar"
LIBRARY = REPOSITORY / "build/release/libvread_jni.so"
SOURCES = REPOSITORY / "tests/field/java"
MAIN = REPOSITORY / "hdfs-native/java/src/main/java/io/vread"
LOGGING = [f"-Dlog4j.configuration=file:{SOURCES}/log4j.properties"]
UTF_8 = {"LC_ALL": "C.UTF-8"}


def newer_java():
    """Java 24 or later beside the Java on the path, or None."""
    found = {}
    for release in Path(shutil.which("java")).resolve().parents[2].glob("*/release"):
        if version := re.search(r'JAVA_VERSION="(\d+)', release.read_text()):
            found[int(version[1])] = release.parent / "bin/java"
    newest = max(found, default=0)
    return found[newest] if newest >= 24 else None


NEWER_JAVA = newer_java()


@pytest.fixture(scope="module")
def class_path():
    path = f"{JAR}:{hadoop_class_path()}/*"
    version = f"{DEFAULT_VERSION} {os.stat(JAR).st_mtime_ns}"
    return f"{compiled_java(SOURCES, lambda: path, 'field', version)}:{path}"


@pytest.fixture(scope="module")
def block(tmp_path_factory):
    folder = tmp_path_factory.mktemp("field")
    written = DataDirectory(folder / "data").add(1073741825, 3_000_001)
    image = make_datanode_image([folder / "data"], folder / "dn.raw")
    write_layout(image, folder / "layout.json")
    return folder, written


@pytest.fixture(scope="module")
def daemon(block):
    with served(block) as running:
        yield running


def served(block, **options):
    return Vreadd({"dn1": (block[0] / "dn.raw", block[0] / "layout.json")}, **options)


@pytest.fixture
def publish(run, block, block_arguments):
    """publish(folder, *options): the lines that FieldPublisher prints.  With a daemon of its own,
    because from then on the daemon wants tokens that are signed."""

    def publishing(folder, *options, **others):
        with served(block, publish=["dn1"]) as publishers:
            arguments = [*block_arguments(publishers.endpoint), folder]
            return run("datanode.FieldPublisher", arguments, *options, **others)

    return publishing


@pytest.fixture
def right(block):
    return str(zlib.crc32(block[1].content()))


@pytest.fixture
def run(class_path):
    """run(program, arguments, options of the JVM): the lines that it prints."""

    def program(name, arguments, *options, java="java", prefix=(), env=None, classes=None):
        command = [*prefix, java, *options, "-cp", classes or class_path, f"io.vread.{name}"]
        command += arguments
        done = subprocess.run(
            list(map(str, command)),
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            env=os.environ | (env or {}),
        )
        assert done.returncode == 0, done.stderr
        program.log = done.stderr
        return done.stdout.splitlines()

    return program


@pytest.fixture
def block_arguments(block, daemon):
    """block_arguments(): how programs take the daemon and its block."""

    def arguments(endpoint=None):
        b = block[1]
        return [endpoint or daemon.endpoint, b.pool, b.id, b.genstamp, b.storage, b.length]

    return arguments


@pytest.fixture
def read(run, block_arguments):
    """read(what, *options): the lines that FieldReader prints."""

    def reading(what, *options, endpoint=None, properties=(), **others):
        arguments = [what, *block_arguments(endpoint), *properties]
        return run("field.FieldReader", arguments, *options, **others)

    reading.run = run
    return reading


# ---- paths and languages ----------------------------------------------------------


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "US-ASCII", "UTF-16"])
def test_default_charset_is_not_that_of_paths(read, right, daemon, tmp_path, encoding):
    """-Dfile.encoding changes how texts are encoded, but not the names of files."""
    link = tmp_path / "größe"
    link.symlink_to(daemon.endpoint)
    lines = read("read", f"-Dfile.encoding={encoding}", endpoint=link, env=UTF_8)
    # Also what the JVM prints is in that encoding.
    assert right in "".join(lines).replace("\0", "")


def test_path_from_a_configuration_in_a_daemon_without_locale(read, right, daemon, tmp_path):
    link = tmp_path / "größe"
    link.symlink_to(daemon.endpoint)
    (tmp_path / "site.xml").write_text(
        "<configuration><property><name>io.vread.endpoint</name>"
        f"<value>{link}</value></property></configuration>",
        encoding="utf-8",
    )
    lines = read("read", properties=[tmp_path / "site.xml"], env={"LC_ALL": "C"})
    assert lines == [right]


@pytest.mark.parametrize("encoding", [None, "ISO-8859-1"])
def test_data_directory_with_other_letters(publish, tmp_path, encoding):
    """The publisher makes durable the files of a data directory whose name is not ASCII."""
    folder = tmp_path / "größe"
    folder.mkdir()
    options = [f"-Dfile.encoding={encoding}"] if encoding else []
    lines = publish(folder, *options, env=UTF_8)
    assert lines[-2:] == ["0", "-2"]


@pytest.mark.parametrize(
    ("where", "configured"),
    [({"LD_LIBRARY_PATH": "/opt/donn\udce9es"}, ""), ({}, "/opt/donn\udce9es")],
    ids=["environment", "property"],
)
def test_folder_of_libraries_that_is_no_path(run, where, configured):
    """A folder that the locale cannot name is passed over: the library in the jar is loaded."""
    lines = run("field.FieldLibrary", [configured], env={"LC_ALL": "C"} | where)
    assert lines == ["jar:/native/linux-x86_64/libvread_jni.so"]


@pytest.mark.parametrize("language", ["tr-TR", "ar-EG-u-nu-arab", "th-TH-u-nu-thai"])
def test_languages(read, right, language):
    """Neither dotless letters nor other digits come into names of files or into the statistics."""
    name, country, extensions = language[:2], language[3:5], language[6:]
    options = [f"-Duser.language={name}", f"-Duser.country={country}"]
    options += [f"-Duser.extensions={extensions}", "-Duser.timezone=Asia/Kathmandu"]
    lines = read("read-and-count", *options, properties=["io.vread.library.path=/opt/İ"])
    assert lines[0] == right
    assert lines[1].isascii() and '"bytes":3000001' in lines[1]


# ---- loading ------------------------------------------------------------------------


def test_library_of_another_machine_on_the_path(run, tmp_path):
    """A library of another processor, or of no ELF at all, is passed over."""
    for folder, change in (("arm", (18, 183)), ("text", (0, 0))):
        (tmp_path / folder).mkdir()
        data = bytearray(LIBRARY.read_bytes())
        data[change[0]] = change[1]
        (tmp_path / folder / LIBRARY.name).write_bytes(data)
    path = f"-Djava.library.path={tmp_path / 'arm'}:{tmp_path / 'text'}:{LIBRARY.parent}"
    assert run("field.FieldLibrary", [""], path) == [str(LIBRARY)]


def test_temporary_folder_without_exec(run, tmp_path):
    """The copy in the jar cannot be loaded, and the warning says what to set."""
    script = 'mount -t tmpfs -o noexec none "$0" && exec "$@"'
    mounted = ["unshare", "-m", "sh", "-c", script, tmp_path]
    options = [f"-Djava.io.tmpdir={tmp_path}", "-Djava.library.path=/nonexistent", *LOGGING]
    assert run("field.FieldLibrary", [""], *options, prefix=mounted) == ["no-library"]
    assert "set io.vread.library.path" in run.log and str(tmp_path) in run.log
    # A folder that may execute is enough.
    assert run("field.FieldLibrary", [LIBRARY], *options, prefix=mounted) == [str(LIBRARY)]


def test_relocated_classes(run, class_path, tmp_path):
    """A build that shades the jar gives its classes other names, but not the library's methods."""
    sources = []
    for source in (MAIN / "NativeLibrary.java", MAIN / "Clock.java"):
        sources.append(tmp_path / source.name)
        sources[-1].write_text(source.read_text().replace("package io.vread;", "package shaded;"))
    program = tmp_path / "FieldLibrary.java"
    text = (SOURCES / "io/vread/field/FieldLibrary.java").read_text()
    program.write_text(text.replace("import io.vread.", "import shaded."))
    command = ["javac", "-d", tmp_path / "classes", "-cp", class_path, program, *sources]
    subprocess.run(command, check=True)
    relocated = f"{tmp_path / 'classes'}:{class_path}"
    assert run("field.FieldLibrary", [LIBRARY], *LOGGING, classes=relocated) == ["wrong-version"]
    assert "relocate" in run.log


POLICY = """grant {
  permission java.util.PropertyPermission "*", "read,write";
  permission java.io.FilePermission "<<ALL FILES>>", "read,write,delete";
  permission java.lang.reflect.ReflectPermission "suppressAccessChecks";
  permission javax.security.auth.AuthPermission "*";
  permission java.lang.RuntimePermission "getenv.*";
  permission java.lang.RuntimePermission "accessDeclaredMembers";
  permission java.lang.RuntimePermission "getClassLoader";
  permission java.lang.RuntimePermission "setContextClassLoader";
  %s
};
"""


@pytest.mark.parametrize("loads", [True, False])
def test_security_manager(read, right, tmp_path, loads):
    """A policy that lets Hadoop work lets vRead work with one permission more; without that one the
    reason is a library that may not be loaded, once for the process."""
    more = 'permission java.lang.RuntimePermission "loadLibrary.*";' if loads else ""
    (tmp_path / "policy").write_text(POLICY % more)
    policy = f"-Djava.security.policy=={tmp_path / 'policy'}"
    lines = read("read", "-Djava.security.manager", policy, *LOGGING)
    assert lines == [right if loads else "refused [no-library]"]
    assert loads or "loadLibrary" in read.run.log


@pytest.mark.slow
def test_hadoop_on_the_module_path(run, class_path, block_arguments, right, tmp_path):
    """Hadoop's shaded client can be a module.  The plug-in's jar cannot be another one, because it
    has a class in a package of Hadoop's: it is on the class path, or patches Hadoop's module."""
    jars = shaded_class_path("3.4.1")
    hadoop, *others = (
        ":".join(str(jar) for jar in sorted(jars.glob("*.jar")) if ("hadoop" in jar.name) == of_it)
        for of_it in (True, False)
    )
    module = ["--module-path", hadoop, "--add-modules", "ALL-MODULE-PATH"]
    classes = ":".join([class_path.partition(":")[0], str(JAR), *others])
    arguments = ["read", *block_arguments()]
    assert run("field.FieldReader", arguments, *module, classes=classes) == [right]
    module += ["--patch-module", f"hadoop.client.api={JAR}"]
    program = tmp_path / "Loads.java"
    program.write_text(
        "package io.vread.field; class Loads { public static void main(String[] nothing) throws"
        " Exception { System.out.println(Class.forName(nothing[0]).getModule().getName()); } }"
    )
    subprocess.run(["javac", "-d", tmp_path, program], check=True)
    name = "io.vread.hdfs.VreadFileSystem"
    classes = f"{tmp_path}:{classes}"
    assert run("field.Loads", [name], *module, classes=classes) == ["hadoop.client.api"]


needs_newer_java = pytest.mark.skipif(not NEWER_JAVA, reason="no Java 24 or later")


@needs_newer_java
@pytest.mark.parametrize(
    ("options", "expected", "warned"),
    [
        ([], None, True),
        (["--enable-native-access=ALL-UNNAMED"], None, False),
        (["--illegal-native-access=deny"], "refused [no-native-access]", False),
    ],
    ids=["default", "enabled", "denied"],
)
def test_native_access(read, right, options, expected, warned):
    assert read("read", *options, java=NEWER_JAVA) == [expected or right]
    assert ("restricted method in java.lang.System" in read.run.log) == warned


# ---- running ------------------------------------------------------------------------


@needs_newer_java
def test_virtual_threads_on_one_carrier(read, right):
    """A hundred virtual threads read on one carrier thread, which each native call pins."""
    scheduler = "-Djdk.virtualThreadScheduler."
    one = [f"{scheduler}parallelism=1", f"{scheduler}maxPoolSize=1"]
    assert read("virtual-threads", *one, java=NEWER_JAVA) == [right]


@pytest.mark.parametrize("what", ["read", "threads", "buffers"])
def test_checked_jni(read, right, what):
    """The JVM's own checks of native code print nothing."""
    assert read(what, "-Xcheck:jni") == [right + " false" * (what == "buffers")]


def test_checked_jni_of_the_publisher(publish, tmp_path):
    lines = publish(tmp_path, "-Xcheck:jni")
    events = [f"{event} 0" for event in ("FINALIZED", "APPEND", "TRUNCATE", "DELETE")]
    # The last keys say that the pool has no tokens, which is refused once there were some.
    assert lines == ["true", *events, "0", "0", "-1", "0", "-2"]


@pytest.mark.parametrize(
    "options",
    [
        ["-XX:+UseSerialGC", "-Xmx24m", "-XX:MaxDirectMemorySize=64k"],
        ["-XX:+UseZGC"],
        ["-XX:+UseShenandoahGC"],
    ],
    ids=["small", "zgc", "shenandoah"],
)
def test_collectors_and_little_memory(read, right, options):
    """Readers in sixteen threads need no direct memory and little heap."""
    assert read("threads", *options) == [right]


@pytest.mark.parametrize("file", [False, True], ids=["", "statistics-file"])
def test_first_read_while_the_jvm_ends(read, right, tmp_path, file):
    """The first block is read in a shutdown hook, when no hook can be added."""
    properties = [f"io.vread.statistics.file={tmp_path / 'statistics'}"] if file else []
    assert read("shutdown-hook", properties=properties) == [right]


def test_link_in_the_place_of_the_statistics(read, right, tmp_path):
    """Somebody has laid links where a process writes its statistics, as in a folder for all."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    script = 'ln -s "$0/precious" "$0/.s.$$" && ln -s "$0/precious" "$0/s" && exec "$@"'
    properties = [f"io.vread.statistics.file={tmp_path / 's'}"]
    lines = read("read", properties=properties, prefix=["sh", "-c", script, tmp_path])
    assert lines == [right]
    assert precious.read_text() == "mine"
    assert '"bytes":3000001' in (tmp_path / "s").read_text()


def test_child_processes_inherit_nothing(read, right):
    lines = read("child")
    assert lines[0] == right
    opened = [line.partition(" -> ")[2] for line in lines if " -> " in line]
    assert len(opened) == 4  # three, and the folder that ls reads


def test_child_process_by_exec_alone(read, right):
    """A child that is not made by Java, which closes all descriptors, has none of ours, either."""
    first, opened = read("descriptors")
    assert first == right
    assert "closed" in opened and "inherited" not in opened
