# SPDX-License-Identifier: GPL-2.0-or-later
"""Benches.  `python -m tools.bench native|image|freshness|xen` runs a suite and writes
build/bench/<suite>.json.

A suite is a module with main(arguments), where arguments are the words after its name.  A result
file has the form that tools/bench/results.py writes and checks.
"""
