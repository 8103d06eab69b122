# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of two emulated hosts on one wire; they share these two, which are up as long as the
package's tests run."""
