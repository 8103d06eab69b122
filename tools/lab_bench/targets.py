# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of the targets file that the modules of targets share."""

import shlex

import yaml

from tools.hdfs.plug_in import READER
from tools.lab.agents import program
from tools.lab.hadoop_guests import CLIENT, DATANODE, NAMENODE
from tools.lab.product import PLUGIN
from tools.vread_bench.client import HISTOGRAM
from tools.vreadd import REPOSITORY

STOCK = {"dfs.client.read.shortcircuit": "false"}
# vRead must not compete with stock reads: what is counted must not depend on the machine's speed.
VREAD = STOCK | {
    **READER,
    "io.vread.timeout.ms": "60000",
    "io.vread.compete": "false",
}
FILES = "/bench"
BUSY = ("busy1", "busy2")  # guests
BUSY_MIB = 128
BUSY_PROGRAM = "/usr/bin/lab-busy"
JAR, HISTOGRAMS = "/usr/share/java/vread-bench.jar", "/usr/share/java/HdrHistogram.jar"
DROP = "sync; echo 3 >/proc/sys/vm/drop_caches"
IMAGE = "raw"


def written(path, name, target):
    """Writes the targets file of one target; returns its path."""
    path.write_text(yaml.safe_dump({"targets": {name: target}}, sort_keys=False))
    return path


def client_files():
    """{path in the client guest: file} of the measuring client."""
    return {JAR: REPOSITORY / "build" / "java" / "vread-bench.jar", HISTOGRAMS: HISTOGRAM}


def busy_files():
    return {BUSY_PROGRAM: program("lab-busy")}


def command(host, line):
    return {"host": host, "command": line}


def reload(vreadd, program="xl-vread"):
    """The command that has a vreadd of this host read its configuration again."""
    return f"{program} reload --socket {vreadd.control_socket}"


def no_read_ahead(host, vreadd, program="xl-vread"):
    """The setting without read-ahead of HDFS and of vRead.  vreadd: runs on the host, and has
    `config_path` and `control_socket`."""
    config, again = vreadd.config_path, reload(vreadd, program)
    remove = f"sed -i '/^read-ahead = /d' {config}"
    return {
        # What DataNodes and short-circuit readers read ahead, and what the plug-in does.
        "properties": {"dfs.client.cache.readahead": "0", "io.vread.readahead.bytes": "0"},
        "enter": [
            command(host, f"{remove} && sed -i 's/^\\[vreadd\\]$/&\\nread-ahead = 0/' {config}"),
            command(host, again),
        ],
        "leave": [command(host, f"{remove} && {again}")],
    }


def forget(file):
    """The command that drops one file's pages from the page cache, and no others."""
    return f"sync {file}; dd if={file} iflag=nocache count=0 2>/dev/null"


def machines(gate, names):
    """The hosts of the targets file for machines that are reached by the lab's gate."""
    return {name: {"by": "command", "command": shlex.join(gate.words(name))} for name in names}


def guests_target(gate, kind, hosts, guests=(CLIENT, DATANODE, NAMENODE, *BUSY), **own):
    """A target with each of these in a guest.  hosts: further ones.  own: keys of the target which
    one host with busy neighbours does not have, or has with other values."""
    class_path = f"HADOOP_CLASSPATH={PLUGIN}:{JAR}:{HISTOGRAMS} HADOOP_HEAPSIZE_MAX=96m"
    begin = f"killall lab-busy 2>/dev/null; setsid {BUSY_PROGRAM} 85 </dev/null >/dev/null 2>&1 &"
    return {
        "kind": kind,
        "emulated": "yes",
        "hosts": machines(gate, guests) | hosts,
        "client": {
            "host": CLIENT,
            "command": f"{class_path} exec hdfs io.vread.bench.Client",
            "keep": "yes",
        },
        "ways": {"stock": STOCK, "vread": VREAD},
        "loads": {
            "2vms": {},
            "4vms": {
                "enter": [command(guest, begin) for guest in BUSY],
                "leave": [command(guest, "killall lab-busy") for guest in BUSY],
            },
        },
        "places": {"local": {"files": FILES}},
        "images": {IMAGE: {}},
        **own,
    }
