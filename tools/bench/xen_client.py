# SPDX-License-Identifier: GPL-2.0-or-later
"""The warm client JVM of tools/bench/java in a client domU, for the suites on Xen and the demos.

hdfs = Hdfs(host, backend, client_files=XenClient.files(), ...)
with XenClient(hdfs.client) as client:
    client.mount("tcp", {})
    client.ask("seq", "tcp", "/file", 1 << 20)      # {"bytes": ..., "seconds": ...}
"""

from pathlib import Path

from tools.lab import Guest
from tools.lab.java_program import JavaProgram, compiled
from tools.lab.paths import REPOSITORY

SOURCES = REPOSITORY / "tools" / "bench" / "java"
JAR = "/usr/share/java/hdfs-bench.jar"
# Plain references, which the program needs; the class data archive does not fit them.
OPTIONS = "-XX:-UseCompressedOops -XX:-UseCompressedClassPointers"


class XenClient(JavaProgram):
    def __init__(self, guest: Guest) -> None:
        super().__init__(guest, "HdfsBench", JAR, OPTIONS, heap="96m")

    @staticmethod
    def files() -> dict[str, Path]:
        """The files that the client domU needs."""
        return {JAR: compiled("hdfs-bench", SOURCES.glob("*.java"))}

    def mount(self, name: str, properties: dict[str, str]) -> None:
        """Makes a FileSystem with its own sockets and caches, called `name`."""
        properties = {"dfs.client.context": name} | properties
        self.ask("mount", name, *(f"{key}={value}" for key, value in properties.items()))

    def ask(self, *words) -> dict:
        """Sends one command; returns the answer."""
        self.say(" ".join(str(word) for word in words))
        return self.hear()
