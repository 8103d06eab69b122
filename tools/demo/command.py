# SPDX-License-Identifier: GPL-2.0-or-later
"""A demo as a command: its line, its progress, its exit status."""

import argparse
import sys

from tools.demo.report import Progress
from tools.demo.steps import DemoError
from tools.hdfs import HdfsError
from tools.images import ImageError
from tools.lab import LabError
from tools.peers import PeersError


def parser(program, manual):
    """Of its command line; the help is its manual."""
    return argparse.ArgumentParser(
        prog=program, description=manual, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def main(name, options, run):
    """Exit status: run(options, say) prints what it has to say, or fails with a reason."""
    try:
        run(options, Progress())
    except (DemoError, HdfsError, ImageError, LabError, PeersError) as error:
        print(f"{name}: FAILED: {error}", file=sys.stderr)
        return 1
    return 0
