# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a datanode disk image of datanode data directories."""

import argparse
import json
import sys

from tools.images import TABLES, ImageError, make_datanode_image


def main():
    parser = argparse.ArgumentParser(prog="python -m tools.images", description=__doc__)
    parser.add_argument("data_dirs", nargs="+", metavar="DATA_DIR", help="with current/VERSION")
    parser.add_argument("--out", required=True, metavar="IMAGE")
    parser.add_argument("--table", choices=TABLES, default="gpt", help="default: %(default)s")
    parser.add_argument("--path-in-fs", default="/dfs/data", help="default: %(default)s")
    parser.add_argument("--block-size", type=int, default=4096, help="of ext4 (%(default)s)")
    parser.add_argument("--features", help="for mke2fs -O")
    parser.add_argument("--free-mib", type=int, default=64, help="free space (%(default)s)")
    arguments = vars(parser.parse_args())
    try:
        image = make_datanode_image(arguments.pop("data_dirs"), arguments.pop("out"), **arguments)
    except ImageError as error:
        sys.exit(f"tools.images: {error}")
    print(json.dumps(image.facts(), indent=2))


if __name__ == "__main__":
    main()
