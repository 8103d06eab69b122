# SPDX-License-Identifier: GPL-2.0-or-later
"""`make demo`: the main job on an emulated Xen host, with a comparison at the end."""
