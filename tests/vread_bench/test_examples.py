# SPDX-License-Identifier: GPL-2.0-or-later
"""The examples of vread-bench are right, and cover the paper's figures."""

import re
from pathlib import Path

import pytest

from tools.vread_bench import result, spec, targets
from tools.vread_bench.figures import FIGURES
from tools.vread_bench.pages import matches
from tools.vread_bench.summary import KEYS, Cell

pytestmark = pytest.mark.spread

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLES = REPOSITORY / "tools/vread_bench/examples"
SPECS = sorted(path for path in EXAMPLES.glob("*.yaml") if path.name != "targets.yaml")
PAGE = (REPOSITORY / "docs/benchmarking.md").read_text()


def read(path):
    return spec.read(path, targets.read(EXAMPLES / "targets.yaml"))


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_an_example_is_right_and_described(path):
    assert read(path).name == path.stem
    assert f"`{path.name}`" in PAGE


OF_THE_PAPER = [f for f in FIGURES if f.panels and re.search(r"\d", f.name)]


@pytest.mark.parametrize("figure", OF_THE_PAPER, ids=lambda f: f.name)
def test_a_figure_of_the_paper_has_an_example(figure):
    """Each panel has cells with stock and with another way."""
    numbers = re.findall(r"\d+", figure.name)
    (path,) = (p for p in SPECS if set(numbers) <= set(re.findall(r"\d+", p.stem)))
    cells = [Cell("x", {key: getattr(cell, key) for key in KEYS}) for cell in read(path).cells]
    for panel in figure.panels:
        ways = {cell.key["way"] for cell in cells if matches(cell, panel.only)}
        assert "stock" in ways and len(ways) > 1, panel


def test_the_page_names_the_keys_of_the_result_file():
    for key in result.HEAD:
        assert f"`{key}`" in PAGE
