# SPDX-License-Identifier: GPL-2.0-or-later
"""A NameNode and DataNodes on loopback ports, for tests, benches and `python -m tools.hdfs up`.

A cluster has one folder: conf/, logs/, name/ and the datanodes' directories.  The stock FsShell
writes and reads files.  The blocks of a file come from the NameNode's fsck page, which is the text
that `hdfs fsck` prints.  A cluster that is started again in the same folder has the old files.

A live cluster (live=True, as root) keeps each datanode's directories on an ext4 or XFS image.  The
images are mounted while the cluster runs, and only its datanodes see the mounts:

    cluster = HdfsCluster(folder, datanodes=3, data_dirs=2, live=True)
    with cluster, Vreadd(cluster.served("dn1", "dn2")) as vreadd:
        ...
"""

import hashlib
import json
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from tools.hdfs import config, jvm
from tools.hdfs.artifacts import DEFAULT_VERSION, hadoop_class_path
from tools.hdfs.block import blocks_in_report, fsck_query
from tools.hdfs.class_archive import archived_class_path
from tools.hdfs.datanode import MAIN as DATANODE
from tools.hdfs.datanode import PORTS as DATANODE_PORTS
from tools.hdfs.datanode import datanodes as make_datanodes
from tools.hdfs.errors import HdfsError
from tools.hdfs.ports import free_ports
from tools.images import MountSpace

START_TIMEOUT = 300  # of several JVMs, on a busy machine
BIND_ATTEMPTS = 3
NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
FS_SHELL = "org.apache.hadoop.fs.FsShell"


class HdfsCluster:
    """Use as a context manager, or call start() and stop().

    conf: properties that override the defaults of config.py.  class_path: jars or folders before
    Hadoop's jars, for daemons and FsShell.  data_dirs: how many each datanode has; in a live
    cluster on each disk.  disks: how many each datanode of a live cluster has (used in turn).
    disk_mib, tables, file_system: size, partition tables (used in turn) and file system of their
    images.
    java_options: of all JVMs; the default is for JVMs that live for a short time.
    storage_types: of the data directories of each datanode, in turn, as SSD; without, all are DISK.
    """

    NAMENODE_PORTS = 2

    def __init__(
        self,
        directory,
        version=DEFAULT_VERSION,
        block_size=128 << 20,
        conf=None,
        data_dirs=1,
        heap_mib=128,
        class_path=(),
        datanodes=1,
        replication=1,
        live=False,
        disks=(1,),
        disk_mib=1024,
        tables=("gpt", "none"),
        file_system="ext4",
        java_options=jvm.SHORT_LIVED,
        storage_types=(),
    ):
        if block_size <= 0 or block_size % 512:
            raise HdfsError(f"block size {block_size}: expected a multiple of 512 (the checksum's)")
        if data_dirs < 1:
            raise HdfsError(f"{data_dirs} data directories: expected at least 1")
        if not 1 <= replication <= datanodes:
            raise HdfsError(
                f"replication {replication}: expected 1 to {datanodes}, the number of datanodes"
            )
        self.directory = Path(directory).resolve()
        self.version = version
        self.block_size = block_size
        self.replication = replication
        self.conf = dict(conf or {})
        self.heap_mib = heap_mib
        self.conf_dir = self.directory / "conf"
        self.logs = self.directory / "logs"
        self.name_dir = self.directory / "name"
        self.datanodes = make_datanodes(
            self.directory, datanodes, data_dirs, live, tables, disk_mib, file_system, disks
        )
        for datanode in self.datanodes:
            datanode.storage_types = tuple(storage_types)
        self.namenode = None  # the NameNode that is asked; HaCluster has a second one
        self._java_options = list(java_options)
        self._extra_class_path = [str(entry) for entry in class_path]
        self._class_path = None
        self._ports = None
        self._common = None  # properties of clients and all daemons
        self._mounts = MountSpace() if live else None
        self._attached = False

    # ---- life -------------------------------------------------------------

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        lib = self._jars()
        entries = [*self._extra_class_path, str(self.conf_dir), f"{lib}/*"]
        self._class_path = ":".join(entries)
        for directory in (self.conf_dir, self.logs):
            directory.mkdir(parents=True, exist_ok=True)
        try:
            self.attach_disks()
            for attempt in range(1, BIND_ATTEMPTS + 1):
                try:
                    datanode_ports = DATANODE_PORTS * len(self.datanodes)
                    return self._start_on(free_ports(self.NAMENODE_PORTS + datanode_ports))
                except HdfsError as error:
                    if not _is_port_taken(error) or attempt == BIND_ATTEMPTS:
                        raise
                    self._stop_daemons()
        except BaseException:
            self.stop()
            raise

    def _jars(self):
        return archived_class_path(self.version)

    def _start_on(self, ports):
        self._ports = ports[: self.NAMENODE_PORTS]
        self._common = self._properties() | self.conf
        config.write_conf_dir(self.conf_dir, self._common)
        for number, datanode in enumerate(self.datanodes):
            first = self.NAMENODE_PORTS + number * DATANODE_PORTS
            datanode.configure(ports[first : first + DATANODE_PORTS], self._common)
        self._format()
        self._start_namenode()
        for datanode in self.datanodes:
            self._start_datanode(datanode)
        self.wait_ready()

    def _properties(self):
        rpc, http = self._ports[:2]
        return config.default_properties(
            rpc, http, self.name_dir, self.block_size, self.replication
        )

    def _start_namenode(self):
        self.namenode = self._spawn("namenode", NAMENODE)

    def stop(self):
        """Stops the daemons and unmounts the images, also after a start() that failed half way."""
        self._stop_daemons()
        if self._mounts:
            try:
                for disk in self._disks():
                    disk.detach()
            finally:
                self._mounts.close()
                self._attached = False

    def _stop_daemons(self):
        for datanode in self.datanodes:
            datanode.stop()
        if self.namenode:
            self.namenode.stop()
            self.namenode = None

    def attach_disks(self):
        """Makes and mounts a live cluster's images.  start() does this, too.  Call it before if a
        vreadd is to serve the images when the cluster starts."""
        if self._mounts and not self._attached:
            self._attached = True
            self._mounts.open()
            for disk in self._disks():
                disk.attach(self._mounts)

    def _disks(self):
        return [disk for datanode in self.datanodes for disk in datanode.disks]

    def remount(self, name):
        """Unmounts the images of a datanode that does not run, and mounts them again."""
        datanode = self.datanode(name)
        if datanode.running:
            raise HdfsError(f"{name} is running: stop it before its image is unmounted")
        for disk in datanode.disks:
            disk.detach()
            disk.attach(self._mounts)

    def wait_ready(self, timeout=START_TIMEOUT):
        """Waits until every running DataNode is live and has reported its blocks, and the NameNode
        takes writes."""
        what = "live DataNodes and NameNode out of safe mode"
        jvm.wait_until(self._ready, self._daemons(), what, timeout)

    def _ready(self):
        running = [datanode for datanode in self.datanodes if datanode.running]
        try:
            state = self.jmx("namenode", "Hadoop:service=NameNode,name=FSNamesystemState")
            info = self.jmx("namenode", "Hadoop:service=NameNode,name=NameNodeInfo")
        except (OSError, HdfsError):
            return False  # not listening yet, or the bean is not registered yet
        return (
            state.get("NumLiveDataNodes", 0) >= len(running)
            and info.get("Safemode") == ""
            and all(datanode.has_reported() for datanode in running)
        )

    def _daemons(self):
        found = [self.namenode, *(datanode.daemon for datanode in self.datanodes)]
        return [daemon for daemon in found if daemon]

    def start_datanode(self, name):
        """Starts a stopped or killed datanode.  Returns when the NameNode knows it again."""
        datanode = self.datanode(name)
        if datanode.running:
            raise HdfsError(f"{name} is running already")
        for attempt in range(1, BIND_ATTEMPTS + 1):
            datanode.configure(datanode.ports, self._common)
            self._start_datanode(datanode)
            try:
                return self.wait_ready()
            except HdfsError as error:
                if not _is_port_taken(error) or attempt == BIND_ATTEMPTS:
                    raise
                datanode.stop()
                datanode.ports = free_ports(DATANODE_PORTS)

    def start_namenode(self):
        """Starts the NameNode after it was killed.  Returns when it knows the datanodes again."""
        self._start_namenode()
        self.wait_ready()

    def reconfigure_datanode(self, name, dirs):
        """Leaves a running datanode only the first of its data directories in its configuration.
        It uses the others until `hdfs dfsadmin -reconfig datanode`."""
        self.datanode(name).reconfigure(self._common, dirs)

    def upgrade(self):
        """Starts all daemons anew for an upgrade that is not a rolling one.  From then on, until
        `hdfs dfsadmin -finalizeUpgrade`, each data directory keeps its previous state beside it."""
        self._stop_daemons()
        self._start_again(["-upgrade"], [])

    def roll_back(self):
        """Starts all daemons anew with the state that they had before the upgrade."""
        self._stop_daemons()
        with tempfile.TemporaryFile() as answer:
            answer.write(b"Y\n")
            answer.seek(0)
            command = self._java(NAMENODE, ["-rollback"])
            jvm.run(command, "hdfs namenode -rollback", stdin=answer)
        self._start_again([], ["-rollback"])

    def _start_again(self, namenode, datanode, which=None):
        self.namenode = self._spawn("namenode", NAMENODE, arguments=namenode)
        for each in which or self.datanodes:
            self._start_datanode(each, datanode)
        self.wait_ready()

    def clone(self, original, new_ids=True):
        """Before the first start of a live cluster: takes the namespace and the disks of another
        cluster, which has stopped, as if its virtual machines were cloned.  new_ids: datanodes and
        storages get ids of their own."""
        shutil.copytree(original.name_dir, self.name_dir)
        for own, other in zip(self._disks(), original._disks(), strict=True):
            own.copy(other)
        self.attach_disks()
        if new_ids:
            for datanode in self.datanodes:
                datanode.renew_ids()
        self.sync()

    def back_up_names(self):
        """Copies the name directory for restore_names(), and returns the copy."""
        return Path(shutil.copytree(self.name_dir, self.directory / "name-backup"))

    def restore_names(self, backup):
        """Starts the daemons that run anew, with the namespace of the backup.  The NameNode then
        gives out again the block ids that it gave out since."""
        running = [datanode for datanode in self.datanodes if datanode.running]
        self._stop_daemons()
        shutil.rmtree(self.name_dir)
        shutil.copytree(backup, self.name_dir)
        self._start_again([], [], running)

    def _start_datanode(self, datanode, arguments=()):
        own = [datanode.conf_dir, *datanode.class_path]
        class_path = ":".join([*map(str, own), self._class_path])
        command = self._java(DATANODE, arguments, class_path=class_path)
        if self._mounts:
            command = [*self._mounts.enter, *command]
        datanode.start(command, self.logs / f"{datanode.name}.log")

    def _format(self):
        if (self.name_dir / "current" / "VERSION").exists():
            return
        self._run_format(self._format_class_path())

    def _run_format(self, class_path, *more):
        log = self.logs / "format.log"
        words = ["-format", "-force", "-nonInteractive", *more]
        command = self._java(NAMENODE, words, class_path=class_path)
        with open(log, "wb") as sink:
            code = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT
            ).returncode
        if code != 0:
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-25:])
            raise HdfsError(f"formatting the NameNode failed (exit {code}); end of {log}:\n{tail}")

    def _format_class_path(self):
        return self._class_path

    def _spawn(self, name, main, class_path=None, arguments=()):
        command = self._java(main, arguments, class_path=class_path)
        return jvm.Daemon(name, command, self.logs / f"{name}.log")

    def _java(self, main, arguments=(), class_path=None, log_level="INFO"):
        return jvm.java_command(
            class_path or self._class_path, main, arguments, self.heap_mib, log_level,
            self._java_options,
        )  # fmt: skip

    # ---- facts ------------------------------------------------------------

    @property
    def uri(self):
        return self._common["fs.defaultFS"]

    @property
    def properties(self):
        """The properties of clients and all daemons."""
        return dict(self._common)

    @property
    def _http_port(self):
        return self._ports[1]

    @property
    def pids(self):
        """{name: process id} of the daemons that run: namenode, dn1, dn2 ..."""
        return {daemon.name: daemon.pid for daemon in self._daemons()}

    @property
    def namenode_logs(self):
        """The log of each NameNode."""
        return [self.logs / "namenode.log"]

    @property
    def class_path(self):
        """The class path of the daemons and FsShell."""
        return self._class_path

    @property
    def client_class_path(self):
        """The class path of another JVM that is a client: the cluster's configuration, Hadoop."""
        return f"{self.conf_dir}:{hadoop_class_path(self.version)}/*"

    @property
    def data_dirs(self):
        """The data directories of all datanodes."""
        return [path for datanode in self.datanodes for path in datanode.data_dirs]

    def datanode(self, name):
        for datanode in self.datanodes:
            if datanode.name == name:
                return datanode
        raise HdfsError(f"no datanode {name!r}; there are {len(self.datanodes)}, dn1 and on")

    def served(self, *names):
        """The `datanodes` of a Vreadd that serves these datanodes (all, if none is named)."""
        return {
            datanode.name: datanode.served
            for datanode in self.datanodes
            if not names or datanode.name in names
        }

    def sync(self):
        """Writes all that the datanodes have written to their images (live clusters only)."""
        for disk in self._disks():
            disk.sync()

    def jmx(self, daemon, query):
        """The first JMX bean that matches the query; daemon: "namenode", "dn1", "dn2" ..."""
        port = self._http_port if daemon == "namenode" else self.datanode(daemon).ports[1]
        return self._jmx_at(port, daemon, query)

    def _jmx_at(self, port, daemon, query):
        document = json.loads(_http(port, "/jmx", {"qry": query}))
        if not document.get("beans"):
            raise HdfsError(f"{daemon}: no JMX bean {query}")
        return document["beans"][0]

    def fsck(self, path):
        """The report of `hdfs fsck PATH -files -blocks -locations`."""
        return _http(self._http_port, "/fsck", fsck_query(path))

    def blocks(self, path):
        """The blocks of one file, in order, as the NameNode reports them."""
        return blocks_in_report(self.fsck(path), path)

    def block_file(self, block, datanode=None):
        """The data file of a finalized block, in the data directories of that datanode, or of all
        datanodes if none is named."""
        for directory in self.datanode(datanode).data_dirs if datanode else self.data_dirs:
            candidate = directory / block.relative_path()
            if candidate.is_file():
                return candidate
        raise HdfsError(f"{block.spec()}: no {block.relative_path()} under {self.data_dirs}")

    # ---- files ------------------------------------------------------------

    def fs(self, *arguments, stdin=None, stdout=subprocess.PIPE):
        """Runs FsShell with these arguments, as `hdfs dfs` does; returns its standard output."""
        words = [str(argument) for argument in arguments]
        command = self._java(FS_SHELL, words, log_level="ERROR")
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


def _is_port_taken(error):
    """True if another process took the port before the daemon bound it, or while it was down."""
    return "Address already in use" in str(error)


def _http(port, path, query):
    url = f"http://127.0.0.1:{port}{path}?{urllib.parse.urlencode(query)}"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=30) as answer:
            return answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        raise HdfsError(f"{url}: HTTP {error.code}: {error.read(500)!r}") from error
