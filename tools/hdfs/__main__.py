# SPDX-License-Identifier: GPL-2.0-or-later
"""A small real HDFS by hand: `python -m tools.hdfs up`, and the data the demo reads."""

import argparse
import contextlib
import signal
import sys
from pathlib import Path

from tools.hdfs import DEFAULT_VERSION, HdfsCluster, HdfsError, hadoop_class_path
from tools.hdfs.demo_data import demo_image
from tools.hdfs.plug_in import READER
from tools.images import TABLES, ImageError
from tools.vreadd import REPOSITORY, Vreadd, VreaddError

JAR = REPOSITORY / "build" / "java" / "vread-hdfs.jar"
FSDATASET = "io.vread.datanode.VreadFsDatasetFactory"
LIVE_MIB = 8192  # of each DataNode's image, which is sparse


def main():
    arguments = _parser().parse_args()
    try:
        arguments.action(arguments)
    except (HdfsError, ImageError, VreaddError) as error:
        sys.exit(f"tools.hdfs: {error}")


def _parser():
    parser = argparse.ArgumentParser(prog="python -m tools.hdfs", description=__doc__)
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    jars = actions.add_parser("jars", help="resolve Hadoop's jars and print their folder")
    jars.set_defaults(action=_jars)

    up = actions.add_parser("up", help="run a NameNode and DataNodes until Ctrl-C")
    up.add_argument("--dir", default="build/hdfs", help="its folder (default: %(default)s)")
    up.add_argument("--block-mib", type=int, default=128, metavar="N")
    up.add_argument("--datanodes", type=int, default=1, metavar="N")
    up.add_argument("--data-dirs", type=int, default=1, metavar="N", help="of each DataNode")
    up.add_argument("--replication", type=int, default=1, metavar="N")
    up.add_argument("--live", action="store_true", help="DataNodes on mounted images (root)")
    up.add_argument(
        "--vread",
        action="store_true",
        help="as --live, with a vreadd that serves the images and DataNodes that publish to it",
    )
    up.add_argument("-D", dest="properties", action="append", default=[], metavar="NAME=VALUE")
    up.add_argument(
        "--put", action="append", default=[], metavar="LOCAL=PATH", help="file to write"
    )
    up.set_defaults(action=_up)

    demo = actions.add_parser("demo-data", help="a datanode image with a file of real blocks")
    demo.add_argument("--mib", type=int, default=256, help="size of the file (%(default)s)")
    demo.add_argument("--block-mib", type=int, default=32, help="of its blocks (%(default)s)")
    demo.add_argument("--table", choices=TABLES, default="gpt", help="of partitions (%(default)s)")
    demo.add_argument("--no-layout", action="store_true", help="do not run vread-provision")
    demo.set_defaults(action=_demo_data)

    for action in (jars, up, demo):
        action.add_argument("--version", default=DEFAULT_VERSION, help="Hadoop's (%(default)s)")
    return parser


def _jars(arguments):
    print(hadoop_class_path(arguments.version))


def _up(arguments):
    conf = dict(_pair(text, "-D") for text in arguments.properties)
    files = [_pair(text, "--put") for text in arguments.put]
    cluster = HdfsCluster(
        arguments.dir,
        version=arguments.version,
        block_size=arguments.block_mib << 20,
        conf=conf,
        data_dirs=arguments.data_dirs,
        class_path=[JAR] if arguments.vread else [],
        datanodes=arguments.datanodes,
        replication=arguments.replication,
        live=arguments.live or arguments.vread,
        disk_mib=LIVE_MIB,
        java_options=(),
    )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with contextlib.ExitStack() as stack:
        stack.callback(cluster.stop)
        vreadd = stack.enter_context(_vreadd(cluster)) if arguments.vread else None
        cluster.start()
        _tell(cluster)
        if vreadd:
            _tell_of_vread(cluster, vreadd)
        for local, path in files:
            cluster.put(local, path)
            for block in cluster.blocks(path):
                print(f"{path}  {block.spec()}")
        print("running; Ctrl-C stops it", flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            print("stopping", flush=True)


def _vreadd(cluster):
    """A vreadd, not yet started, for the cluster's images; the datanodes will publish to it."""
    if not JAR.exists():
        raise HdfsError(f"{JAR.relative_to(REPOSITORY)} is not built; run `make all`")
    cluster.attach_disks()
    names = [datanode.name for datanode in cluster.datanodes]
    vreadd = Vreadd(cluster.served(), publish=names)
    vreadd.prepare()
    for datanode in cluster.datanodes:
        datanode.conf = {
            "dfs.datanode.fsdataset.factory": FSDATASET,
            "io.vread.endpoint": vreadd.endpoint,
        }
    return vreadd


def _tell(cluster):
    print(f"file system  {cluster.uri}")
    print(f"conf dir     {cluster.conf_dir}")
    print(f"data dirs    {' '.join(str(path) for path in cluster.data_dirs)}")
    print(f"logs         {cluster.logs}")
    print(f"class path   {cluster.client_class_path}")


def _tell_of_vread(cluster, vreadd):
    """Prints the properties that make a client read through vreadd, also as an FsShell command."""
    properties = {
        **READER,
        "io.vread.endpoint": vreadd.endpoint,
    }
    for name, value in properties.items():
        print(f"property     {name}={value}")
    words = " ".join(f"-D {name}={value}" for name, value in properties.items())
    class_path = f"{JAR}:{cluster.client_class_path}"
    java = "java -Dhadoop.root.logger=INFO,console"
    shell = f"{java} -cp '{class_path}' org.apache.hadoop.fs.FsShell"
    print(f"read with    {shell} {words} -cat PATH")
    status = REPOSITORY / "build" / "release" / "xl-vread"
    print(f"look at it   {status} status --socket {vreadd.control_socket}")


def _pair(text, option):
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise HdfsError(f"{option} {text}: expected two parts with = between them")
    return name, value


def _demo_data(arguments):
    data = demo_image(
        mib=arguments.mib,
        block_mib=arguments.block_mib,
        table=arguments.table,
        version=arguments.version,
        layout=not arguments.no_layout,
    )
    for path in sorted(Path(data.directory).iterdir()):
        print(path)


if __name__ == "__main__":
    main()
