# SPDX-License-Identifier: GPL-2.0-or-later
"""Peculiar JVMs that users of other native libraries reported: each reads a block through the
plug-in, or leaves it to Hadoop, and says why."""

import os
import subprocess
import zlib
from pathlib import Path

import pytest

from tests.support.hdfs_dir import DataDirectory
from tests.support.java_classes import compiled_java
from tools.hdfs import DEFAULT_VERSION, hadoop_class_path
from tools.images import make_datanode_image, write_layout
from tools.vreadd import Vreadd

pytestmark = pytest.mark.hadoop

REPOSITORY = Path(__file__).parents[2]
JAR = REPOSITORY / "build/java/vread-hdfs.jar"
LIBRARY = REPOSITORY / "build/release/libvread_jni.so"
SOURCES = REPOSITORY / "tests/field/java"
MAIN = REPOSITORY / "hdfs-native/java/src/main/java/io/vread"
NEWEST_JAVA = Path("/usr/lib/jvm/temurin-25-jdk-amd64/bin/java")
LOGGING = [f"-Dlog4j.configuration=file:{SOURCES}/log4j.properties"]
UTF_8 = {"LC_ALL": "C.UTF-8"}


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


# ---- loading ------------------------------------------------------------------------


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


needs_newest = pytest.mark.skipif(not NEWEST_JAVA.exists(), reason=f"{NEWEST_JAVA} is not there")


# ---- running ------------------------------------------------------------------------
