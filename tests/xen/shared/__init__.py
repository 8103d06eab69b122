# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that share one emulated host, which is up as long as the package's tests run.  Each module
finds it as it was when it had booted (reset.py)."""
