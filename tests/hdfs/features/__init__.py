# SPDX-License-Identifier: GPL-2.0-or-later
"""Features of HDFS, and who reads the blocks: vRead, or the stock client for a reason.

Each test reads files that use one feature, with every client of its cluster.  Such a pair of
feature and client is a cell.  A cell's result must be what the table "What is read by vRead" in
docs/hadoop.md says (tests/support/feature_table.py).  A run writes all its cells to
build/features.json (tests/runner/features.py).

Most tests share one cluster for each version of Hadoop (conftest.py): a federation of two
namespaces on two datanodes.  Each datanode has data directories of the types DISK, SSD and ARCHIVE
on its image.  The clients are Hadoop's own of the same version and, beside 3.4.3, Spark's shaded
clients, which run the same scenarios.  Other modules have clusters of their own.
"""
