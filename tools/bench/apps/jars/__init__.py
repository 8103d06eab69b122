# SPDX-License-Identifier: GPL-2.0-or-later
"""The applications' jars: a POM for each, which Maven resolves once (tools/hdfs/artifacts.py)."""

from pathlib import Path

from tools.hdfs.artifacts import application_class_path


def jars(name):
    """The folder of the jars of NAME.pom.xml.  HdfsError: Maven could not get them."""
    return application_class_path(Path(__file__).with_name(f"{name}.pom.xml"))


def versions(folder, *names):
    """{name: version} of jars in a folder."""
    found = {}
    for name in names:
        for jar in Path(folder).glob(f"{name}-[0-9]*.jar"):
            if not jar.stem.endswith("-tests"):
                found[name] = jar.stem.removeprefix(f"{name}-")
    return found
