# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of two emulated hosts on one wire.  All tests of the package share the two hosts, which
are up while the package's tests run."""
