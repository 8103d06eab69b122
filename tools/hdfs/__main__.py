# SPDX-License-Identifier: GPL-2.0-or-later
"""A small real HDFS by hand: `python -m tools.hdfs up`, and the data the demo reads."""

import argparse
import signal
import sys
from pathlib import Path

from tools.hdfs import DEFAULT_VERSION, HdfsCluster, HdfsError, hadoop_class_path
from tools.hdfs.demo_data import demo_image
from tools.images import TABLES, ImageError


def main():
    arguments = _parser().parse_args()
    try:
        arguments.action(arguments)
    except (HdfsError, ImageError) as error:
        sys.exit(f"tools.hdfs: {error}")


def _parser():
    parser = argparse.ArgumentParser(prog="python -m tools.hdfs", description=__doc__)
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    jars = actions.add_parser("jars", help="resolve Hadoop's jars and print their folder")
    jars.set_defaults(action=_jars)

    up = actions.add_parser("up", help="run a NameNode and a DataNode until Ctrl-C")
    up.add_argument("--dir", default="build/hdfs", help="its folder (default: %(default)s)")
    up.add_argument("--block-mib", type=int, default=128, metavar="N")
    up.add_argument("--data-dirs", type=int, default=1, metavar="N")
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
    )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with cluster:
        print(f"file system  {cluster.uri}")
        print(f"conf dir     {cluster.conf_dir}")
        print(f"data dirs    {' '.join(str(path) for path in cluster.data_dirs)}")
        print(f"logs         {cluster.logs}")
        print(f"class path   {cluster.conf_dir}:{hadoop_class_path(arguments.version)}/*")
        for local, path in files:
            cluster.put(local, path)
            for block in cluster.blocks(path):
                print(f"{path}  {block.spec()}")
        print("running; Ctrl-C stops it", flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            print("stopping", flush=True)


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
