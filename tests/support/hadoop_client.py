# SPDX-License-Identifier: GPL-2.0-or-later
"""A warm HDFS client JVM (tests/hdfs/java) that runs a test's commands, with and without vRead.

with HadoopClient(cluster, vread_properties(daemon.endpoint), log=folder / "client.log") as client:
    client.do("write", file="/f", on=["dn1"])
    answer = client.do("read", file="/f", way="pread")
    answer["bytes"], answer["stats"]["vread.bytes"]
"""

import json
import os
import select
import subprocess
from pathlib import Path

from tests.support.java_classes import compiled_java
from tools.hdfs import hadoop_class_path, jvm, mapreduce_class_path
from tools.hdfs.plug_in import READER

REPOSITORY = Path(__file__).parents[2]
SOURCES = REPOSITORY / "tests" / "hdfs" / "java"
JAR = REPOSITORY / "build" / "java" / "vread-hdfs.jar"
JNI = REPOSITORY / "build" / "release" / "libvread_jni.so"
MAIN = "io.vread.check.Client"
OLDEST = "3.3.6"
HEAP_MIB = 256
TIMEOUT = 300
STOP_TIMEOUT = 120


class ClientError(AssertionError):
    """The command failed in the client; with its stack trace."""


def vread_properties(endpoint, **more):
    """The configuration of a client that reads through vRead.  For example, timeout_ms=500 sets
    io.vread.timeout.ms.  vRead does not compete with stock reads unless a test says compete="true":
    the machine's speed must not decide who reads."""
    properties = {
        **READER,
        "io.vread.endpoint": str(endpoint),
        "io.vread.compete": "false",
    }
    return properties | {f"io.vread.{name.replace('_', '.')}": more[name] for name in more}


def compiled():
    """The folder of the client's classes.  They are compiled against the oldest Hadoop, so that
    they work with all versions, as the plug-in's classes do."""
    return compiled_java(SOURCES, _oldest_class_path, "hdfs-check", OLDEST)


def _oldest_class_path():
    return f"{hadoop_class_path(OLDEST)}/*:{mapreduce_class_path(OLDEST)}/*"


class HadoopClient:
    """properties: set over the cluster's, for reads through vRead.  prefix: words before the
    command, for example to run it as another user.  jar: the plug-in's, or another.  conf_dir:
    before the cluster's.  hadoop: class path entries in place of Hadoop's own jars.  clock: for
    libvread's limits (tests/support/clock.py).  java_options, environment: more of the JVM's."""

    def __init__(
        self,
        cluster,
        properties,
        log,
        prefix=(),
        jar=JAR,
        publishers=(),
        conf_dir=None,
        clock=None,
        hadoop=None,
        java_options=(),
        environment=None,
    ):
        self._cluster = cluster
        self._properties = dict(properties)
        self._prefix = list(prefix)
        self._options = ["-XX:TieredStopAtLevel=1", *java_options]
        self._environment = dict(environment or {})
        self._first = [str(entry) for entry in (conf_dir, jar) if entry]
        self._publishers = publishers
        self._clock = clock
        self._hadoop = hadoop
        self.log = Path(log)
        self._process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, failure, *_):
        if failure:
            self.kill()  # it may be busy, and a time limit here would hide the failure
        else:
            self.stop()

    @property
    def pid(self):
        return self._process.pid

    def start(self):
        classes = compiled()
        hadoop = self._hadoop or [
            self._cluster.client_class_path,
            f"{mapreduce_class_path(self._cluster.version)}/*",
        ]
        class_path = ":".join([*self._first, str(classes), *map(str, hadoop)])
        command = jvm.java_command(
            class_path,
            MAIN,
            [f"{name}={value}" for name, value in (self._properties | self._own()).items()],
            heap_mib=HEAP_MIB,
            options=self._options,
        )
        environment = os.environ | self._environment
        environment |= self._clock.environment if self._clock else {}
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *self._prefix, *command],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment,
            )  # fmt: skip

    def _own(self):
        own = {}
        for datanode in self._cluster.datanodes:
            own[f"check.address.{datanode.name}"] = datanode.address
            if datanode.disk:
                own[f"check.disk.{datanode.name}"] = datanode.disk.view
            if datanode.name in self._publishers:
                query = "io.vread:type=Publisher"
                url = f"http://127.0.0.1:{datanode.ports[1]}/jmx?qry={query}"
                own[f"check.publisher.{datanode.name}"] = url
            elif datanode.disk and not self._prefix:
                own[f"check.written-to.{datanode.name}"] = datanode.disk.view
        return own

    def stop(self):
        """Ends the JVM in order, so that it writes its output."""
        if self._process:
            self._process.stdin.close()
            try:
                self._process.wait(STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
                raise
            finally:
                self._process.stdout.close()
                self._process = None

    def kill(self):
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None

    def do(self, name, /, timeout=TIMEOUT, **arguments):
        """Waits for the answer and returns it; raises a ClientError if the command failed."""
        self.send(name, **arguments)
        return self.receive(name, timeout)

    def send(self, name, /, **arguments):
        line = json.dumps({"do": name} | arguments) + "\n"
        self._process.stdin.write(line.encode())
        self._process.stdin.flush()

    def answered(self, timeout=0):
        ready, _, _ = select.select([self._process.stdout], [], [], timeout)
        return bool(ready)

    def do_as_time_passes(self, name, /, **arguments):
        """As do(), for a command that ends when limits of libvread pass."""
        self.send(name, **arguments)
        self._clock.until(self.answered, step=1, seconds=TIMEOUT, what=f"an answer to {name}")
        return self.receive(name)

    def receive(self, name, timeout=TIMEOUT):
        if not self.answered(timeout):
            raise ClientError(f"{name}: no answer within {timeout} s; {self.log_tail()}")
        line = self._process.stdout.readline()
        if not line:
            raise ClientError(f"{name}: the client ended: {self.log_tail()}")
        answer = json.loads(line)
        if not answer.pop("ok"):
            raise ClientError(f"{name}: {answer['error']}\nlog: {self.log_tail()}")
        return answer

    def logged(self):
        """Everything that Hadoop and the plug-in have logged so far."""
        return self.log.read_text(errors="replace")

    def log_tail(self):
        return self.logged()[-3000:]


def another_user():
    """Words that run a command as a user who may read all files and write none: a checkout may lie
    in a folder that only root may read."""
    reading = "+dac_read_search"
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    return [*user, f"--inh-caps={reading}", f"--ambient-caps={reading}"]
