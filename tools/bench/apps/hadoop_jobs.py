# SPDX-License-Identifier: GPL-2.0-or-later
"""MapReduce's local runner in a process that stays warm, for mapreduce.py, dfsio.py and
distcp.py."""

from tools.bench.apps.application import WAYS, Application
from tools.bench.apps.jars import jars, versions
from tools.bench.apps.program import JavaProgram
from tools.hdfs import DEFAULT_VERSION, hadoop_class_path, mapreduce_class_path

HEAP_MIB = 1024
LOCAL_RUNNER = {
    "mapreduce.framework.name": "local",
    "mapreduce.local.map.tasks.maximum": "2",
}


class HadoopJobs(Application):
    """Of an application whose operations are jobs: one program for each way."""

    def prepare(self):
        self._programs = {way: self._program(way) for way in WAYS}

    def programs(self, way):
        return [self._programs[way]]

    def ask(self, way, *words):
        return self._programs[way].ask(*words)

    def versions(self):
        found = versions(jars("jobs"), "hadoop-mapreduce-examples", "hadoop-distcp")
        return {"hadoop": DEFAULT_VERSION} | found

    def _program(self, way):
        hadoop = [hadoop_class_path(), mapreduce_class_path(), jars("jobs")]
        class_path = self.bed.class_path(way, LOCAL_RUNNER) + [f"{folder}/*" for folder in hadoop]
        folder = self.bed.folder / f"{self.NAME}-{way}"
        program = JavaProgram(
            f"{self.NAME} by {way}", ["HadoopJobs.java"], class_path, folder, HEAP_MIB
        )
        return self.stack.enter_context(program)
