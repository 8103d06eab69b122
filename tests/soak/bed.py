# SPDX-License-Identifier: GPL-2.0-or-later
"""What a soak disturbs: three datanodes on live images, and the vreadds of two hosts.

                 client JVM
                     |
    host "here":  vreadd ------ TLS ------ vreadd  :host "there"
                     |                        |
                    dn1                      dn2        dn3 (no vreadd serves it)

Files have two replicas.  So the client reads some blocks of its own host, some of the other host,
and some that only one of the hosts can serve.  The hostile parties (hostile.py) are a user and the
QEMU of a guest here, and another host that reads from there.
"""

import contextlib
from dataclasses import dataclass
from pathlib import Path

from tests.support.hadoop_bed import BLOCK_SIZE, PATIENCE, publishing_to
from tests.support.hadoop_client import JAR, HadoopClient, vread_properties
from tests.support.ivshmemfront import Server
from tests.support.peers import free_address
from tests.support.torture import CLIENT_PROPERTIES
from tests.support.waiting import eventually
from tools.hdfs import HdfsCluster
from tools.peers import Authority, peer
from tools.vreadd import Vreadd

DISK_MIB = 384
HERE, THERE = "dn1", "dn2"
HOSTILE = "hostile"
FOR_ALL = "[local]\nmode = 0666\n"
SPACE_USED = "org.apache.hadoop.hdfs.server.datanode.fsdataset.impl.ReplicaCachingGetSpaceUsed"
CONF = CLIENT_PROPERTIES | {
    "dfs.namenode.redundancy.interval.seconds": "1s",
    "dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER",
    "dfs.namenode.replication.considerLoad": "false",
    "dfs.client.retry.window.base": "50",
    # A datanode that ended is dead for the NameNode after 2 * recheck + 10 * heartbeat.
    "dfs.heartbeat.interval": "1s",
    "dfs.namenode.heartbeat.recheck-interval": "5000",
    # A datanode that ends in the middle of writes counts their space as used until it counts anew.
    # By default that is after 10 min.  Until then small disks are full, and get no blocks.
    "fs.getspaceused.classname": SPACE_USED,
    "fs.du.interval": "2000",
    "fs.getspaceused.jitterMillis": "0",
}


@dataclass
class Bed:
    hdfs: HdfsCluster
    here: Vreadd
    there: Vreadd
    ivshmem: Server
    client: HadoopClient  # not started
    hostile: dict  # arguments of hostile_parties()

    @property
    def daemons(self):
        return {"here": self.here, "there": self.there, "ivshmem": self.ivshmem}


@contextlib.contextmanager
def soak_bed(folder, variant):
    """Starts all but the client."""
    folder = Path(folder).resolve()
    folder.mkdir(parents=True)
    hdfs = HdfsCluster(
        folder / "hdfs",
        block_size=BLOCK_SIZE,
        conf=CONF,
        datanodes=3,
        replication=2,
        live=True,
        disk_mib=DISK_MIB,
        class_path=[JAR],
        java_options=["-XX:TieredStopAtLevel=1"],
    )
    authority = Authority(folder)
    address = free_address()
    with contextlib.ExitStack() as stack:
        stack.callback(hdfs.stop)
        hdfs.attach_disks()
        ivshmem = Server(folder, HOSTILE, variant=variant, memory="16M", queues=2)
        stack.callback(stop, ivshmem)
        there = Vreadd(
            hdfs.served(THERE),
            variant,
            publish=(THERE,),
            sections=authority.host("there", listen=address)
            + peer("here", allow_datanodes=THERE)
            + peer(HOSTILE, allow_datanodes=THERE),
        )
        here = Vreadd(
            hdfs.served(HERE),
            variant,
            publish=(HERE,),
            sections=authority.host("here")
            + peer("there", address=address, datanodes=THERE)
            + ivshmem.sections
            + FOR_ALL,
        )
        for name, daemon in ((HERE, here), (THERE, there)):
            stack.enter_context(daemon)
            hdfs.datanode(name).conf = publishing_to(daemon.endpoint)
        hdfs.start()
        properties = vread_properties(here.endpoint, **PATIENCE | {"timeout_ms": 2000})
        client = HadoopClient(hdfs, properties, folder / "client.log", publishers=(HERE, THERE))
        eventually(lambda: has_storages_of_there(here), what=lambda: what_both_say(here, there))
        (data_dir,) = hdfs.datanode(THERE).data_dirs
        hostile = {
            "user": [here.endpoint],
            "qemu": [ivshmem.sockets[HOSTILE]],
            "host": [address, *authority.certificate(HOSTILE), authority.ca, data_dir],
        }
        yield Bed(hdfs, here, there, ivshmem, client, hostile)


def stop(server):
    status = server.stop()
    assert status == 0, f"vread-ivshmem ended with {status}:\n{server.log()}"


def what_both_say(here, there):
    """For a failure: the logs of both vreadds are gone afterwards."""
    said = (f"{daemon.status()}\n{daemon.log()}" for daemon in (here, there))
    return "\n".join(("the other host's storages are not known here:", *said))


def has_storages_of_there(here):
    (status,) = here.status()["peers"]["peers"]
    return status["storages"] > 0
