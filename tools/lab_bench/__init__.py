# SPDX-License-Identifier: GPL-2.0-or-later
"""vread-bench in the emulated lab and on this machine: the results that docs/results/ has."""
