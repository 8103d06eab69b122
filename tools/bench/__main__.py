# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one bench suite; `python -m tools.bench SUITE --help` tells its options."""

import importlib
import sys

SUITES = ("native", "image", "freshness", "xen", "remote", "apps", "scheduler", "scale", "peer")


def main():
    words = sys.argv[1:]
    if not words or words[0] not in SUITES:
        sys.exit(f"usage: python -m tools.bench {'|'.join(SUITES)} [OPTION...]")
    suite = importlib.import_module(f"tools.bench.{words[0]}")
    sys.exit(suite.SUITE.main(words[1:]))


if __name__ == "__main__":
    main()
