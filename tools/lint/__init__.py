# SPDX-License-Identifier: GPL-2.0-or-later
"""The Linux kernel's own checks of source files, for the guest's kernel module."""
