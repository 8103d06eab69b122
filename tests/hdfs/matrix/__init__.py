# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that share an HDFS with vRead, one for each column of the matrix (MODES in
tests/support/hadoop_bed.py).  A column's JVMs are up while its tests run."""
