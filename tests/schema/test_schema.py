# SPDX-License-Identifier: GPL-2.0-or-later
"""The three descriptions of the xenstore nodes agree: vread.schema.json, the page printed from it,
and the manual in vreadif.h."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "xenstore-schema"
SCHEMA = json.loads((FOLDER / "vread.schema.json").read_text())
HEADER = (FOLDER / "vreadif.h").read_text()


def generate(*args):
    command = [sys.executable, FOLDER / "generate.py", FOLDER / "vread.schema.json", *args]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_paths_page_is_current():
    assert (FOLDER / "vread-paths.md").read_text() == generate("--paths")


def test_man_page_is_current():
    assert (FOLDER / "vread-xenstore.7").read_text() == generate("--man")


def documented_nodes():
    """(directory, node) -> its lines in section 1 of vreadif.h."""
    section = HEADER[HEADER.index("1. XenStore nodes") : HEADER.index("2. States")]
    nodes, kind = {}, None
    for line in section.splitlines():
        if heading := re.match(r" \* ---- (\w+) directory", line):
            kind = heading[1]
        elif node := re.match(r" \* (\S+) \[([TBF]).*\]\s+(.*)", line):
            nodes[kind, node[1]] = node[3]
    return nodes


def test_header_and_schema_name_the_same_nodes():
    assert set(documented_nodes()) == {(n["dir"], n["node"]) for n in SCHEMA["nodes"]}


@pytest.mark.parametrize(
    "constant,node,bound",
    [
        ("VREAD_MAX_QUEUES", "max-queues", "max"),
        ("VREAD_MAX_QUEUES", "num-queues", "max"),
        ("VREAD_MAX_RING_PAGE_ORDER", "max-ring-page-order", "max"),
        ("VREAD_MAX_RING_PAGE_ORDER", "ring-page-order", "max"),
        ("VREAD_MIN_POOL_PAGES", "max-pool-pages", "min"),
        ("VREAD_MAX_POOL_PAGES", "max-pool-pages", "max"),
        ("VREAD_MIN_POOL_PAGES", "pool-pages", "min"),
        ("VREAD_MAX_POOL_PAGES", "pool-pages", "max"),
    ],
)
def test_limits_agree(constant, node, bound):
    value = int(re.search(rf"#define {constant} (\d+)U", HEADER)[1])
    (entry,) = [n for n in SCHEMA["nodes"] if n["node"] == node]
    assert entry[bound] == value


def test_macros_cover_every_node(tmp_path):
    generate(tmp_path)
    text = (tmp_path / "vread-nodes.h").read_text()
    for node in SCHEMA["nodes"]:
        assert f'"{node["node"].replace("<n>", "%u").replace("<m>", "%u")}"' in text


def test_nodes_a_device_takes_of_quotas():
    """The manual's figures equal the number of nodes of a frontend's directory, counted here."""
    for queues, pages in ((4, 2), (8, 16)):
        nodes = {"."}
        for node in SCHEMA["nodes"]:
            if node["dir"] == "frontend":
                for n in range(queues):
                    for m in range(pages):
                        path = node["node"].replace("<n>", str(n)).replace("<m>", str(m))
                        nodes |= {path, path.rpartition("/")[0] or "."}
        assert re.search(rf"\b{len(nodes)}\b", generate("--man").partition(".Sh QUOTAS")[2])
