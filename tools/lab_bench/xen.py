# SPDX-License-Identifier: GPL-2.0-or-later
"""The target xen: NameNode, DataNode, client and two busy domUs of an emulated Xen host with one
processor, with vreadd in dom0.

Instructions and copies are those of the whole machine: hypervisor, dom0 and all domains.
"""

import contextlib
from pathlib import Path

from tools.lab import XenHost, hadoop, hadoop_state, product
from tools.lab.counter import instructions
from tools.lab.gate import Gate
from tools.lab.hadoop_guests import CLIENT, DATANODE
from tools.lab_bench import targets
from tools.lab_bench.targets import command

VARIANT = "release"
BLOCK_MIB = 8
DOM0 = "dom0"
FORGET = "/usr/sbin/lab-forget"
GETCONF = "/usr/bin/getconf"  # counters of vread-bench use it


@contextlib.contextmanager
def target(folder, say):
    """Yields the target's part of the targets file, with everything up."""
    counter = folder / "counts"
    host = XenHost(
        "bench-xen",
        **hadoop_state.arguments(),
        files=product.dom0_files(VARIANT) | dom0_files(),
        guest_files=product.guest_files(VARIANT),
        counter=counter,
        progress=say,
    )
    with host:
        backend = hadoop.backend(host)
        backend.start()
        say("dom0: vreadd is up; connecting the client and the datanode")
        files = targets.client_files()
        hdfs = hadoop.Hdfs(host, backend, block_mib=BLOCK_MIB, client_files=files)
        hdfs.start()
        for name in targets.BUSY:
            say(f"booting {name}")
            host.create_guest(name, memory_mib=targets.BUSY_MIB, files=targets.busy_files())
        say(f"{instructions(counter) / 1e9:.1f} billion instructions so far")
        with Gate(folder / "gate", host.guests | {DOM0: host}) as gate:
            yield described(gate, backend, counter)
        host.check_dmesg()


def dom0_files():
    return {FORGET: Path(__file__).with_name("forget.sh"), GETCONF: Path(GETCONF)}


def described(gate, vreadd, counter):
    """The target's part of the targets file.  vreadd: the Backend in dom0."""
    return targets.guests_target(
        gate,
        "xen",
        targets.machines(gate, [DOM0]) | {"machine": {"by": "local"}},
        settings={"no-read-ahead": targets.no_read_ahead(DOM0, vreadd)},
        cold=[command(DATANODE, targets.DROP), command(DOM0, FORGET)],
        cpu={
            "client": [domain(DOM0, CLIENT)],
            "datanode": [domain(DOM0, DATANODE)],
            "host": [{"host": DOM0, "pid": vreadd.pid}, block_threads(DOM0)],
            "network": [network_threads(DOM0)],
        },
        counters=counters([counter]),
        versions=versions(DOM0),
    )


def domain(dom0, name):
    """CPU seconds of a domain, by the lab's own program: `xl list` knows them to 0.1 s."""
    line = f'lab-cpu | awk \'$1 == "{name}" {{ printf "%.6f\\n", $2 / 1e9 }}\''
    return command(dom0, line)


def block_threads(dom0):
    """Those of block back ends, as 3.xvdb-0."""
    return {"host": dom0, "processes": r"[0-9]+\.xvd.*"}


def network_threads(dom0):
    """Those of network back ends, as vif3.0-q0-guest-."""
    return {"host": dom0, "processes": r"vif[0-9]+\.[0-9]+-.*"}


def counters(files):
    """Of emulated machines, each with its file of counts."""
    return {
        "instructions": [command("machine", f"od -An -tu8 -N8 {file}") for file in files],
        "copied-bytes": [command("machine", f"od -An -tu8 -j8 {file}") for file in files],
    }


def versions(dom0):
    return {
        "xen": command(dom0, "xl info xen_version"),
        "dom0": command(dom0, "uname -r"),
        "qemu": command("machine", "qemu-system-x86_64 --version | head -n 1"),
        "hadoop": command(CLIENT, "ls /opt/hadoop/lib | grep hadoop-common"),
        "vread": command(dom0, "xl-vread version"),
    }
