# SPDX-License-Identifier: GPL-2.0-or-later
"""One NameNode and one DataNode on loopback ports, and the few things done with them.

A cluster lives in one folder: conf/, logs/, name/ and data1/ (data2/ ...).  Files go in and out
through the stock FsShell; what blocks a file has comes from the NameNode's fsck page, which is
what `hdfs fsck` prints.  Starting again in the same folder finds the old files.
"""

import contextlib
import hashlib
import json
import re
import socket
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from tools.hdfs import config, jvm
from tools.hdfs.artifacts import DEFAULT_VERSION, hadoop_class_path
from tools.hdfs.block import Block
from tools.hdfs.errors import HdfsError

START_TIMEOUT = 120
BIND_ATTEMPTS = 3
NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
FS_SHELL = "org.apache.hadoop.fs.FsShell"
FSCK_BLOCK = re.compile(
    r"^\d+\. (?P<pool>BP-\S+):blk_(?P<id>-?\d+)_(?P<genstamp>\d+) len=(?P<length>\d+)(?P<rest>.*)$",
    re.MULTILINE,
)
FSCK_STORAGE = re.compile(r"DatanodeInfoWithStorage\[[^,\]]*,(?P<id>[^,\]]+),[^\]]*\]")


class HdfsCluster:
    """Use as a context manager, or call start() and stop().

    conf: further properties, over the defaults of config.py.  class_path: jars or folders put
    before Hadoop's, for daemons and FsShell alike.  data_dirs: how many the datanode has.
    """

    def __init__(
        self,
        directory,
        version=DEFAULT_VERSION,
        block_size=128 << 20,
        conf=None,
        data_dirs=1,
        heap_mib=128,
        class_path=(),
    ):
        if block_size <= 0 or block_size % 512:
            raise HdfsError(f"block size {block_size}: expected a multiple of 512 (the checksum's)")
        if data_dirs < 1:
            raise HdfsError(f"{data_dirs} data directories: at least one is needed")
        self.directory = Path(directory).resolve()
        self.version = version
        self.block_size = block_size
        self.conf = dict(conf or {})
        self.heap_mib = heap_mib
        self.conf_dir = self.directory / "conf"
        self.logs = self.directory / "logs"
        self.name_dir = self.directory / "name"
        self.data_dirs = [self.directory / f"data{n}" for n in range(1, data_dirs + 1)]
        self._extra_class_path = [str(entry) for entry in class_path]
        self._class_path = None
        self._ports = None
        self._daemons = []

    # ---- life -------------------------------------------------------------

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        lib = hadoop_class_path(self.version)
        entries = [*self._extra_class_path, str(self.conf_dir), f"{lib}/*"]
        self._class_path = ":".join(entries)
        for directory in (self.conf_dir, self.logs):
            directory.mkdir(parents=True, exist_ok=True)
        for attempt in range(1, BIND_ATTEMPTS + 1):
            try:
                return self._start_on(_free_ports(5))
            except HdfsError as error:
                # Somebody else may take a free port before the daemon binds it.
                if "Address already in use" not in str(error) or attempt == BIND_ATTEMPTS:
                    raise

    def _start_on(self, ports):
        self._ports = ports
        properties = config.default_properties(
            ports, self.name_dir, self.data_dirs, self.block_size
        )
        config.write_conf_dir(self.conf_dir, properties | self.conf)
        self._format()
        try:
            self._daemons = [self._spawn("namenode", NAMENODE), self._spawn("datanode", DATANODE)]
            self.wait_ready()
        except BaseException:
            self.stop()
            raise

    def stop(self):
        for daemon in reversed(self._daemons):
            daemon.stop()
        self._daemons = []

    def wait_ready(self, timeout=START_TIMEOUT):
        """Until the DataNode is live, has reported its blocks, and the NameNode takes writes."""
        what = "live DataNode and NameNode out of safe mode"
        jvm.wait_until(self._ready, self._daemons, what, timeout)

    def _ready(self):
        try:
            state = self.jmx("namenode", "Hadoop:service=NameNode,name=FSNamesystemState")
            info = self.jmx("namenode", "Hadoop:service=NameNode,name=NameNodeInfo")
        except (OSError, HdfsError):
            return False  # not listening yet, or the bean is not registered yet
        return state.get("NumLiveDataNodes") == 1 and info.get("Safemode") == ""

    def _format(self):
        if (self.name_dir / "current" / "VERSION").exists():
            return
        log = self.logs / "format.log"
        command = self._java(NAMENODE, ["-format", "-force", "-nonInteractive"])
        with open(log, "wb") as sink:
            code = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT
            ).returncode
        if code != 0:
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-25:])
            raise HdfsError(f"formatting the NameNode failed (exit {code}); end of {log}:\n{tail}")

    def _spawn(self, name, main):
        return jvm.Daemon(name, self._java(main), self.logs / f"{name}.log")

    def _java(self, main, arguments=(), **options):
        return jvm.java_command(
            self._class_path, main, arguments, heap_mib=self.heap_mib, **options
        )

    # ---- facts ------------------------------------------------------------

    @property
    def uri(self):
        return f"hdfs://127.0.0.1:{self._ports[0]}"

    @property
    def pids(self):
        return {daemon.name: daemon.pid for daemon in self._daemons}

    def jmx(self, daemon, query):
        """The first bean of the "namenode" or "datanode" that answers the query."""
        port = self._ports[1] if daemon == "namenode" else self._ports[3]
        document = json.loads(_http(port, "/jmx", {"qry": query}))
        if not document.get("beans"):
            raise HdfsError(f"{daemon}: no JMX bean {query}")
        return document["beans"][0]

    def blocks(self, path):
        """The blocks of one file, in order, as the NameNode tells them."""
        wanted = {"path": path, "files": "1", "blocks": "1", "locations": "1"}
        report = _http(self._ports[1], "/fsck", wanted)
        if "is HEALTHY" not in report:
            raise HdfsError(f"fsck {path}: {report.strip().splitlines()[-1]}")
        found = [
            Block(
                pool=match["pool"],
                block_id=int(match["id"]),
                genstamp=int(match["genstamp"]),
                length=int(match["length"]),
                storage_ids=tuple(s["id"] for s in FSCK_STORAGE.finditer(match["rest"])),
            )
            for match in FSCK_BLOCK.finditer(report)
        ]
        bare = [block for block in found if not block.storage_ids]
        if bare:
            raise HdfsError(f"fsck {path}: blocks without a location, first {bare[0].spec()}")
        return found

    def block_file(self, block):
        """The data file of a finalized block, in whichever data directory has it."""
        for directory in self.data_dirs:
            candidate = directory / block.relative_path()
            if candidate.is_file():
                return candidate
        raise HdfsError(f"{block.spec()}: no {block.relative_path()} under {self.data_dirs}")

    # ---- files ------------------------------------------------------------

    def fs(self, *arguments, stdin=None, stdout=subprocess.PIPE):
        """FsShell with these arguments, as `hdfs dfs` runs it; its standard output as bytes."""
        words = [str(argument) for argument in arguments]
        quick = ["-XX:TieredStopAtLevel=1"]
        command = self._java(FS_SHELL, words, log_level="ERROR", options=quick)
        what = " ".join(["hdfs dfs", *words])
        return jvm.run(command, what, stdin=stdin, stdout=stdout)

    def put(self, local, path, block_size=None):
        size = block_size or self.block_size
        self.fs("-D", f"dfs.blocksize={size}", "-put", "-f", local, path)

    def get(self, path, local):
        self.fs("-get", "-f", path, local)

    def append(self, local, path):
        self.fs("-appendToFile", local, path)

    def rm(self, path):
        self.fs("-rm", "-r", "-skipTrash", path)

    def sha256(self, path):
        """Digest of a file as the stock client reads it."""
        digest = hashlib.sha256()
        command = self._java(FS_SHELL, ["-cat", path], log_level="ERROR")
        with (
            tempfile.TemporaryFile() as complaints,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints) as shell,
        ):
            while chunk := shell.stdout.read(1 << 20):
                digest.update(chunk)
            code = shell.wait()
            complaints.seek(0)
            complaint = complaints.read(2000).decode(errors="replace").strip()
        if code != 0:
            raise HdfsError(f"hdfs dfs -cat {path} failed (exit {code}): {complaint}")
        return digest.hexdigest()


def _http(port, path, query):
    url = f"http://127.0.0.1:{port}{path}?{urllib.parse.urlencode(query)}"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=30) as answer:
            return answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        raise HdfsError(f"{url}: HTTP {error.code}: {error.read(500)!r}") from error


def _free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
