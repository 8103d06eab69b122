# SPDX-License-Identifier: GPL-2.0-or-later
"""A soak: stock HDFS reads and writes through vRead for a long time, while at random everything of
vRead that can end, hang or change does so.  `make soak` runs it (__main__.py).

    bed.py           HDFS on live images, and two hosts' vreadds
    disturbances.py  what ends, hangs or changes
    run.py           one soak, and its ledger
"""
