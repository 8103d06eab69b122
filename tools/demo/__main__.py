# SPDX-License-Identifier: GPL-2.0-or-later
"""The main job: a client domU reads every block of a file out of a datanode's disk image.

A real NameNode and DataNode write the file; their data directory becomes a GPT/ext4 disk image;
an emulated Xen host boots; dom0 runs vreadd on that image; a PV client domU loads the module and
reads through /dev/vread.  Then the same bytes go the vanilla way, through a datanode domU.
"""

import argparse
import json
import sys

from tools.bench.vanilla import READ_TIMEOUT, Vanilla, guest_files, timed
from tools.demo.report import Measurement, Progress, table
from tools.hdfs import HdfsError
from tools.hdfs.demo_data import demo_image
from tools.images import ImageError
from tools.lab import LabError, XenHost, deployment, product
from tools.lab.paths import REPOSITORY

VARIANT = "release"
REQUEST = 1 << 20
CLIENT_ADDRESS = "10.77.0.102"
VREADBENCH = "/usr/local/bin/vreadbench"
XENBUS_STATES = ("", "Initialising", "InitWait", "Initialised", "Connected", "Closing", "Closed")


class DemoError(RuntimeError):
    pass


def main():
    options = _parser().parse_args()
    say = Progress()
    try:
        _run(options, say)
    except (DemoError, HdfsError, ImageError, LabError) as error:
        print(f"demo: FAILED: {error}", file=sys.stderr)
        return 1
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m tools.demo",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--mib", type=int, default=256, help="file size (%(default)s)")
    parser.add_argument("--block-mib", type=int, default=32, help="block size (%(default)s)")
    return parser


def _run(options, say):
    say("HDFS: a file of real blocks, and the datanode image it lies in (kept for the next run)")
    data = demo_image(mib=options.mib, block_mib=options.block_mib)
    host = XenHost(
        "demo",
        disks=[data.image],
        files=product.dom0_files(VARIANT),
        guest_files=product.guest_files(VARIANT),
        progress=say,
    )
    with host:
        vread, states = _read_by_vread(host, data, say)
        vanilla = _read_vanilla(host, data, say)
        host.check_dmesg()
    print(table(vread, vanilla, len(data.blocks), states))
    print(f"demo: ok blocks={len(data.blocks)} bytes={vread.bytes} sha256={vread.sha256}")


def _read_by_vread(host, data, say):
    backend = deployment.Backend(host, {"dn1": deployment.Datanode("/dev/vda", data.layout)})
    backend.start()
    say("dom0: vreadd serves the image; starting the client domU")
    client = deployment.start_client(
        backend,
        "client",
        data.blocks_file,
        memory_mib=256,
        vifs=[CLIENT_ADDRESS],
        files=guest_files() | {VREADBENCH: REPOSITORY / "build" / VARIANT / "vreadbench"},
    )
    states = " / ".join(
        f"{end} {XENBUS_STATES[int(state)]}"
        for end, state in zip(("backend", "frontend"), backend.states(client), strict=True)
    )
    say(f"client: module loaded, {states}; reading through /dev/vread")
    command = f"{VREADBENCH} -e /dev/vread -a read -r {REQUEST} < {deployment.BLOCKS}"
    reading = timed(host, lambda: json.loads(client.text(command, READ_TIMEOUT)))
    say("client: reading again, for the digest")
    digest = deployment.file_digest(client)
    _compare("vRead", digest, data)
    return Measurement("vRead", sha256=digest, **reading), states


def _read_vanilla(host, data, say):
    say("the same bytes without vRead: starting the datanode domU")
    vanilla = Vanilla(host, host.guests["client"], data)
    say("client: reading from the datanode domU by TCP")
    reading = vanilla.fetch()
    say("client: reading again, for the digest")
    digest = vanilla.digest()
    _compare("the vanilla path", digest, data)
    return Measurement("vanilla", sha256=digest, **reading)


def _compare(name, digest, data):
    if digest != data.sha256:
        raise DemoError(f"{name} gives SHA-256 {digest}; the file's is {data.sha256}")


if __name__ == "__main__":
    sys.exit(main())
