# SPDX-License-Identifier: GPL-2.0-or-later
"""The suite of applications: what real programs gain by vRead, natively over the local port.

Each application is a module with a subclass of Application (application.py).  It runs with stock
HDFS and through vRead, in pairs on the same data (measure.py), on an HDFS of its own (bed.py).  The
result file has

    {"suite": "apps",
     "conditions": {...},
     "versions": {"spark": {...}},
     "results": [{"application": "spark", "operation": "count", "what": ..., "unit": "s",
                  "stock": {"n", "median", "min", "max",
                            "cpu_s": {"application", "hdfs": of the DataNode and vreadd}},
                  "vread": the same,
                  "ratio": time by stock over time by vRead, the median of all pairs,
                  "equal": true if all results were equal,
                  "vread_bytes": of a run by vRead,
                      {"by_vread": that clients got through vRead,
                       "by_stock": that the DataNode sent,
                       "share_by_vread",
                       "served_by_vreadd": with what it read ahead in vain},
                  "stock_bytes": the same of a run by stock,
                  "reasons": {reason: blocks that vRead left to the stock client in all runs},
                  "target": {"at_least", "from", "met"} if there is one}],
     "missing": {"spark": why it could not run}}
"""

import os

from tools.bench.apps.arrow import Arrow
from tools.bench.apps.bed import Bed
from tools.bench.apps.columnar import Columnar
from tools.bench.apps.dfsio import DfsIo
from tools.bench.apps.distcp import DistCp
from tools.bench.apps.export import Export
from tools.bench.apps.flink import Flink
from tools.bench.apps.hbase import HBase
from tools.bench.apps.mapreduce import MapReduce
from tools.bench.apps.measure import measure
from tools.bench.apps.spark import Spark
from tools.bench.load import Load
from tools.bench.suite import Suite
from tools.hdfs import DEFAULT_VERSION, HdfsError
from tools.vreadd import VreaddError

APPLICATIONS = (Spark, HBase, MapReduce, DfsIo, DistCp, Arrow, Columnar, Flink, Export)
NAME = 24  # columns of a row's name in the table


def run(mib, block_mib, rounds, only=None):
    """Measures; the document of the result file.  only: the name of one application."""
    load = Load()
    results, versions, missing = [], {}, {}
    for kind in APPLICATIONS:
        if only not in (None, kind.NAME):
            continue
        SUITE.say(f"{kind.NAME}: starting HDFS, making data")
        with Bed(mib, block_mib) as bed:
            try:
                application = kind(bed, mib)
                with application:
                    results += measure(application, rounds, SUITE.say)
                    versions[kind.NAME] = application.versions()
            except HdfsError as error:
                missing[kind.NAME] = str(error)
                SUITE.say(f"{kind.NAME} is missing: {error}")
    return {
        "suite": "apps",
        "conditions": {
            "cpus": os.cpu_count(),
            "cpus_used_by_others": load.told_by(SUITE),
            "hadoop": DEFAULT_VERSION,
            "mib": mib,
            "block_mib": block_mib,
            "page_cache": "warm",
            "ratio": "median of the pairs' ratios, time by stock over time by vRead",
        },
        "versions": versions,
        "results": results,
        "missing": missing,
    }


def table(result):
    """The result as a short text."""
    lines = [f"{'':<{NAME}}{'stock s':>9}{'vRead s':>9}{'ratio':>7}{'CPU s':>14}{'by vRead':>10}"]
    for row in result["results"]:
        stock, vread = row["stock"], row["vread"]
        share = row["vread_bytes"]["share_by_vread"]
        cpu = " > ".join(f"{sum(way['cpu_s'].values()):.1f}" for way in (stock, vread))
        line = f"{row['application'] + ' ' + row['operation']:<{NAME}}{stock['median']:>9.3f}"
        line += f"{vread['median']:>9.3f}{row['ratio']:>7.2f}{cpu:>14}"
        line += f"{'-' if share is None else f'{share:.1%}':>10}"
        line += "" if row["equal"] else "  NOT EQUAL"
        lines.append(line)
        if row["reasons"]:
            told = ", ".join(f"{reason}: {n}" for reason, n in sorted(row["reasons"].items()))
            lines.append(f"    left to the stock client: {told}")
        if "target" in row:
            verdict = "met" if row["target"]["met"] else "MISSED"
            lines.append(f"    target >= {row['target']['at_least']:.3f}: {verdict}")
    lines += [f"missing: {name}: {why}" for name, why in result["missing"].items()]
    return "\n".join(lines)


SUITE = Suite(
    "apps",
    __doc__,
    mib=256,
    block_mib=128,
    rounds=5,
    least_rounds=1,
    measure=run,
    groups=tuple(kind.NAME for kind in APPLICATIONS),
    failures=(VreaddError,),
    table=table,
)
