# SPDX-License-Identifier: GPL-2.0-or-later
"""Brings up one of the targets with HDFS, runs a spec of vread-bench on it, and ends it.
`make bench-lab TARGET=kvm` calls it.

    python -m tools.lab_bench kvm --out build/bench/kvm.json

xen, xen-pair and kvm are emulated machines (tools/lab), bare and disks are this machine.  The
module of a target makes the target's part of the targets file.  vread-bench reaches emulated
machines by the lab's gate, as hosts `by: command`, and knows nothing else of the lab.  The spec of
a target is TARGET.yaml here.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tools.hdfs import HdfsError
from tools.images import ImageError
from tools.lab import LabError
from tools.lab_bench import bare, disks, kvm, xen, xen_pair
from tools.lab_bench.targets import written
from tools.vread_bench.__main__ import main as vread_bench
from tools.vreadd import REPOSITORY, VreaddError

HERE = Path(__file__).parent
TARGETS = {
    "xen": xen.target,
    "xen-pair": xen_pair.target,
    "kvm": kvm.target,
    "bare": bare.target,
    "disks": disks.target,
}


def main():
    options = _parser().parse_args()
    spec = options.spec or HERE / f"{options.target}.yaml"
    out = options.out or REPOSITORY / "build" / "bench" / f"{options.target}.json"
    try:
        return _run(options.target, spec, out)
    except (HdfsError, ImageError, LabError, VreaddError) as error:
        print(f"lab-bench: FAILED: {error}", file=sys.stderr)
        return 1


def _run(name, spec, out):
    if out.exists():
        raise LabError(f"{out}: exists. Give another --out")
    out.parent.mkdir(parents=True, exist_ok=True)
    # The HDFS of an interrupted run is gone, so nothing can go on from its rounds.
    out.with_name(f"{out.name}.journal").unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="lab-bench-") as scratch:
        folder = Path(scratch)
        with TARGETS[name](folder, _say) as target:
            targets = written(folder / "targets.yaml", name, target)
            words = ["--targets", str(targets)]
            status = vread_bench(["prepare", *words, str(spec)])
            return status or vread_bench(["run", *words, "--out", str(out), str(spec)])


def _say(text):
    print(f"lab-bench: {text}", file=sys.stderr, flush=True)


def _parser():
    parser = argparse.ArgumentParser(prog="python -m tools.lab_bench")
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--spec", type=Path, help="another spec than the target's own")
    parser.add_argument("--out", type=Path, help="the result (build/bench/TARGET.json)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
