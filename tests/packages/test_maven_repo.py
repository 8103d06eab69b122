# SPDX-License-Identifier: GPL-2.0-or-later
"""The repository of `make maven-repo`, as a Maven project uses it.

A small project names the artifact and Hadoop, and finds the artifact only in that repository, by a
file: URL.  Maven runs offline: plug-ins and Hadoop come out of this machine's own repository, which
building the jar has filled.  The project has a local repository of its own, so that nothing of
vRead gets into this machine's.
"""

import hashlib
import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from tools.vreadd import REPOSITORY

pytestmark = pytest.mark.thorough

OURS = REPOSITORY / "build/maven-repo"
OF_MACHINE = Path.home() / ".m2/repository"
MODULE = (REPOSITORY / "hdfs-native/java/pom.xml").read_text()
VERSION_OF_COMPILER = re.search(r"-compiler-plugin</artifactId>\s*<version>(.*)</", MODULE)[1]
PLUGINS = "org.apache.maven.plugins:maven"
COMPILE = f"{PLUGINS}-compiler-plugin:{VERSION_OF_COMPILER}:compile"
CLASS_PATH = f"{PLUGINS}-dependency-plugin:3.6.1:build-classpath"
HADOOP = re.search("<hadoop.version>(.*)</", MODULE)[1]

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>example</groupId><artifactId>example</artifactId><version>1</version>
  <properties><maven.compiler.release>8</maven.compiler.release></properties>
  <repositories><repository>
    <id>vread</id><url>file://{ours}</url>
    <releases><checksumPolicy>fail</checksumPolicy></releases>
  </repository></repositories>
  <dependencies>
    <dependency>
      <groupId>io.vread</groupId><artifactId>vread-hdfs</artifactId><version>{version}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.hadoop</groupId><artifactId>hadoop-common</artifactId>
      <version>{hadoop}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.hadoop</groupId><artifactId>hadoop-hdfs-client</artifactId>
      <version>{hadoop}</version>
    </dependency>
  </dependencies>
</project>
"""
SETTINGS = f"""<settings><mirrors><mirror>
  <id>machine</id><mirrorOf>central</mirrorOf><url>file://{OF_MACHINE}</url>
</mirror></mirrors></settings>
"""
PROGRAM = """
import io.vread.Version;
import io.vread.hdfs.VreadReplicaAccessorBuilder;
import org.apache.hadoop.hdfs.ReplicaAccessorBuilder;

public class Example {
  public static void main(String[] arguments) throws Exception {
    Class<?> found = Class.forName("io.vread.hdfs.VreadReplicaAccessorBuilder");
    ReplicaAccessorBuilder builder =
        (ReplicaAccessorBuilder) found.getDeclaredConstructor().newInstance();
    System.out.println(
        (builder instanceof VreadReplicaAccessorBuilder) + " " + Version.ofJar());
  }
}
"""


def run(*command, **options):
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )


@pytest.fixture(scope="module")
def version():
    text = (REPOSITORY / "xen-backend/base/version.h").read_text()
    return re.search(r'VREAD_VERSION "(.*)"', text)[1]


@pytest.fixture(scope="module")
def artifact(version):
    """The path of the artifact's files, without the ends of their names."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    command = ["make", "-C", REPOSITORY, "NO_SETUP=1", "maven-repo"]
    done = run(*command, env=environment)
    assert done.returncode == 0, done.stdout
    assert "warning" not in done.stdout
    return OURS / f"io/vread/vread-hdfs/{version}/vread-hdfs-{version}"


def maven(project, *arguments):
    """Runs Maven without any network; file: URLs are no network."""
    return run(
        "mvn", "-B", "-o", "-Daether.offline.protocols=file", "-Dstyle.color=never",
        "-s", project / "settings.xml", f"-Dmaven.repo.local={project / 'local'}", *arguments,
        cwd=project,
    )  # fmt: skip


def make_project(folder, repository, version):
    source = folder / "src/main/java/Example.java"
    source.parent.mkdir(parents=True)
    source.write_text(PROGRAM)
    (folder / "settings.xml").write_text(SETTINGS)
    pom = POM.format(ours=repository, version=version, hadoop=HADOOP)
    (folder / "pom.xml").write_text(pom)
    return folder


def names(jar):
    with zipfile.ZipFile(jar) as opened:
        assert opened.testzip() is None
        return set(opened.namelist())


def test_each_file_has_its_checksums(artifact):
    kinds = (".jar", ".pom", "-sources.jar", "-javadoc.jar")
    sums = ("md5", "sha1", "sha256", "sha512")
    for kind in kinds:
        data = artifact.with_name(artifact.name + kind).read_bytes()
        for name in sums:
            written = artifact.with_name(f"{artifact.name}{kind}.{name}").read_text()
            assert written == hashlib.new(name, data).hexdigest(), kind
    assert len([path for path in OURS.rglob("*") if path.is_file()]) == 4 * 5


def test_the_jars_have_what_they_should(artifact):
    sources = REPOSITORY / "hdfs-native/java/src/main/java"
    java = {path.relative_to(sources).as_posix() for path in sources.rglob("*.java")}
    assert names(f"{artifact}-sources.jar") == java
    packages = {Path(name).parent for name in java}
    assert len(packages) == 8
    documented = names(f"{artifact}-javadoc.jar")
    for package in packages:
        assert f"{package}/package-info.java" in java
        assert f"{package}/package-summary.html" in documented
    shipped = REPOSITORY / "build/java/vread-hdfs.jar"
    assert Path(f"{artifact}.jar").read_bytes() == shipped.read_bytes()
    assert "native/linux-x86_64/libvread_jni.so" in names(shipped)


def test_the_jar_names_its_release(artifact, version):
    """Tools that list what an application contains read these two files."""
    found = {name for name in names(f"{artifact}.jar") if name.startswith("META-INF/maven/")}
    folder = "META-INF/maven/io.vread/vread-hdfs"
    assert {name for name in found if not name.endswith("/")} == {
        f"{folder}/pom.properties",
        f"{folder}/pom.xml",
    }
    with zipfile.ZipFile(f"{artifact}.jar") as jar:
        properties = jar.read(f"{folder}/pom.properties").decode().split()
        assert properties == ["artifactId=vread-hdfs", "groupId=io.vread", f"version={version}"]
        assert jar.read(f"{folder}/pom.xml") == Path(f"{artifact}.pom").read_bytes()


def test_the_pom_asks_for_nothing(artifact, version):
    """Each dependency is provided, and is one that the module itself is compiled with."""
    pom = Path(f"{artifact}.pom").read_text()
    assert f"<artifactId>vread-hdfs</artifactId>\n  <version>{version}</version>" in pom
    assert "@" not in pom
    found = re.findall(r"<dependency>(.*?)</dependency>", pom, re.S)
    provided = re.findall(r"<dependency>(.*?)</dependency>", MODULE, re.S)
    assert found == [text.replace("${hadoop.version}", HADOOP) for text in provided[:-1]]
    assert len(found) == 3 and all("<scope>provided</scope>" in text for text in found)


def test_a_project_uses_it(artifact, version, tmp_path):
    """It takes a minute if the project's other artifacts come over the network."""
    project = make_project(tmp_path, OURS, version)
    done = maven(project, COMPILE, CLASS_PATH, "-Dmdep.outputFile=class-path")
    assert done.returncode == 0, done.stdout
    assert "Downloaded from vread" in done.stdout
    class_path = f"target/classes:{(project / 'class-path').read_text()}"
    assert f"{project}/local/io/vread/vread-hdfs/{version}" in class_path
    done = run("java", "-cp", class_path, "Example", cwd=project)
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1] == f"true {version}"


@pytest.mark.slow
def test_a_changed_jar_is_refused(artifact, version, tmp_path):
    copied = tmp_path / "repository"
    run("cp", "-r", OURS, copied)
    jar = copied / artifact.relative_to(OURS).with_name(f"{artifact.name}.jar")
    jar.write_bytes(jar.read_bytes() + b"\0")
    done = maven(make_project(tmp_path / "project", copied, version), COMPILE)
    assert done.returncode == 1
    assert "Checksum validation failed" in done.stdout
