# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that share one emulated host, which is up while the package's tests run.  Before each
module, reset.py puts the host back to its state after boot."""
