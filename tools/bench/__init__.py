# SPDX-License-Identifier: GPL-2.0-or-later
"""Benches.  `python -m tools.bench native|image|freshness|xen|remote|apps` runs a suite and writes
build/bench/<suite>.json, in the form of results.py.

A suite is a module with SUITE, a Suite (suite.py).
"""
