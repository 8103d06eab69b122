# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line, the progress and the exit status that all demos share."""

import argparse
import sys

from tools.demo.report import Progress
from tools.demo.steps import DemoError
from tools.hdfs import HdfsError
from tools.images import ImageError
from tools.lab import LabError
from tools.peers import PeersError


def parser(program, manual):
    """The parser of a demo's command line; `manual` is its help."""
    return argparse.ArgumentParser(
        prog=program, description=manual, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def main(name, options, run):
    """Calls run(options, say); prints the reason if it fails.  Returns the exit status."""
    try:
        run(options, Progress())
    except (DemoError, HdfsError, ImageError, LabError, PeersError) as error:
        print(f"{name}: FAILED: {error}", file=sys.stderr)
        return 1
    return 0
