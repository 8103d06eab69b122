# SPDX-License-Identifier: GPL-2.0-or-later
"""`make demo` and `make demo-remote`: vRead on emulated Xen hosts, compared with stock Hadoop."""
