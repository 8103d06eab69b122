# SPDX-License-Identifier: GPL-2.0-or-later
"""vread-bench: measures stock HDFS, vRead and short-circuit reads on any target, and reports.

A run goes through these modules: `spec` and `targets` read the operator's files, `plan` makes the
order of rounds, `session` runs the rounds on `hosts` and keeps them in a `journal`, `result` writes
the result file, and `report` makes pages from result files.  `__main__` is the command line.

The package uses nothing of the rest of the repository, because it is installed by itself
(/usr/share/vread-bench).
"""
