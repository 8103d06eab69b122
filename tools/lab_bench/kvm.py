# SPDX-License-Identifier: GPL-2.0-or-later
"""The target kvm: NameNode, DataNode, client and two busy guests of a stock QEMU, with vreadd on
this machine.

CPU time is that of the guests' emulators and of vreadd, which runs natively: CPU seconds of guests
are dear, those of vreadd are not.  So the part `host` is too small beside the others.  The part
`network` is the NameNode's emulator, which is also the hub of the guests' network.
"""

import contextlib

from tools.lab import hadoop, hadoop_kvm, product
from tools.lab.gate import Gate
from tools.lab.hadoop_guests import CLIENT, DATANODE, NAMENODE
from tools.lab.kvm_host import KvmHost
from tools.lab_bench import targets
from tools.lab_bench.targets import command

VARIANT = "release"
BLOCK_MIB = 8


@contextlib.contextmanager
def target(folder, say):
    """Yields the target's part of the targets file, with everything up."""
    with KvmHost("bench-kvm", product.guest_files(VARIANT)) as host:
        backend = hadoop_kvm.backend(host)
        say("vreadd and vread-ivshmem are up; booting namenode, datanode and client")
        files = targets.client_files()
        hadoop.Hdfs(host, backend, block_mib=BLOCK_MIB, client_files=files).start()
        for name in targets.BUSY:
            say(f"booting {name}")
            host.create_guest(name, memory_mib=targets.BUSY_MIB, files=targets.busy_files())
        with Gate(folder / "gate", host.guests) as gate:
            pids = {name: guest.pid for name, guest in host.guests.items()}
            yield described(gate, pids, backend, hadoop_kvm.image(host))
        host.check_dmesg()
        hadoop_kvm.image(host).unlink()


def described(gate, pids, vreadd, image):
    """The target's part of the targets file.  pids: {guest: process}; vreadd: the KvmBackend."""
    return targets.guests_target(
        gate,
        "kvm",
        {"host": {"by": "local"}},
        settings={"no-read-ahead": targets.no_read_ahead("host", vreadd, _vread())},
        cold=[command(DATANODE, targets.DROP), command("host", targets.forget(image))],
        cpu={
            "client": [_process(pids[CLIENT])],
            "datanode": [_process(pids[DATANODE])],
            "host": [_process(vreadd.pid)],
            "network": [_process(pids[NAMENODE])],
        },
        versions={
            "qemu": command("host", "qemu-system-x86_64 --version | head -n 1"),
            "hadoop": command(CLIENT, "ls /opt/hadoop/lib | grep hadoop-common"),
            "vread": command("host", f"{_vread()} version"),
        },
    )


def _process(pid):
    return {"host": "host", "pid": pid}


def _vread():
    return product.dom0_files(VARIANT)["/usr/sbin/xl-vread"]
