# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of vread-bench: each figure of the paper is there, and each number in its tables is
the one that a second computation finds in the raw rounds."""

import html.parser
import json
import re
import statistics

import pytest

from tests.vread_bench.conftest import Bench
from tools.vread_bench import plots
from tools.vread_bench.figures import FIGURES
from tools.vread_bench.spec import WAYS
from tools.vread_bench.summary import Spread

pytestmark = [pytest.mark.spread, pytest.mark.thorough]

PAPER = ["Figure 2", *(f"Figure {n}" for n in (6, 7, 8, 9, 11, 12, 13)), "Table 2", "Table 3"]
FURTHER = ["Instructions", "Fairness", "Disks", "Read-ahead", "Cache modes"]
KEYS = ["load", "place", "image", "setting", "workload", "request", "readers", "way"]
PARTS = ["client", "datanode", "host", "network"]
TEXTS = {"stock": "stock TCP", "vread": "vRead", 65536: "64KiB", 1 << 20: "1MiB", 4096: "4KiB"}
ROUNDS = 3


def cells():
    for load in ("2vms", "4vms"):
        for place in ("local", "remote-rdma", "remote-plain", "remote-tls", "hybrid"):
            for workload in ("sequential", "re-read", "pread-4k", "write"):
                for request in (4096,) if workload == "pread-4k" else (65536, 1 << 20):
                    for way in WAYS:
                        values = (load, place, "raw", "default", workload, request, 1, way)
                        yield dict(zip(KEYS, values, strict=True))


def record(index, number, cell, key):
    """A round whose numbers come from its index."""
    draw = 1 + (index * 7919 + number * 104729) % 997
    times = {"mean": draw * 1.5, "p50": draw, "p90": draw * 2, "p99": draw * 3, "p999": draw * 4}
    return {
        "index": index, "round": number, "cell": cell, "began": 1.0, "cold": None,
        "bytes": 1 << 30, "checked_bytes": 1 << 30, "seconds": draw / 100,
        "latency_us": times | {"max": draw * 5}, "histogram": "", "reasons": {},
        "bytes_by": {"vread": (1 << 30) // 2 * (key["way"] == "vread"), "stock": 0,
                     "short_circuit": 0},
        "cpu_seconds": {"client": draw / 7, "datanode": draw / 11, "host": draw / 13,
                        "network": None},
        "counters": {"copied-bytes": 3 << 30, "instructions": None},
    }  # fmt: skip


def document(emulated=False, name="host"):
    keys = list(cells())
    described = [
        key | {"id": f"{name}/{i}", "target": "xen", "target_name": name}
        for i, key in enumerate(keys)
    ]
    raw = [
        record(number * len(keys) + i, number, cell["id"], keys[i])
        for number in range(ROUNDS)
        for i, cell in enumerate(described)
    ]
    client = {"kernel": "Linux 6.1", "cpus": 4, "cpu": "A | B <c>", "memory": "8 kB"}
    about = {"kind": "xen", "emulated": emulated, "client": client, "versions": {"xen": "4.17"}}
    return {
        "format": 1, "name": "n", "seed": 7, "rounds": ROUNDS, "size": 1 << 30, "files": 1,
        "preads": 9, "targets": {name: about}, "cells": described, "raw": raw,
    }  # fmt: skip


class Report:
    def __init__(self, bench, documents, out="report"):
        files = []
        for name, content in documents.items():
            files.append(bench.folder / name)
            files[-1].write_text(json.dumps(content))
        self.folder = bench.folder / out
        self.done = bench.call("report", "--out", self.folder, *files)
        assert self.done.returncode == 0, self.done.stderr
        self.markdown = (self.folder / "report.md").read_text()
        self.html = (self.folder / "report.html").read_text()

    def section(self, title):
        (found,) = re.findall(rf"^## {title}\b.*?(?=^## |\Z)", self.markdown, re.M | re.S)
        return found

    def rows(self, title):
        """The table rows of a section, as {column: text}."""
        rows, head = [], None
        for line in self.section(title).splitlines():
            if not line.startswith("| "):
                head = None
            elif head is None:
                head = line[2:-2].split(" | ")
            elif "---" not in line:
                rows.append(dict(zip(head, line[2:-2].split(" | "), strict=True)))
        return rows

    def files(self):
        return {
            path.relative_to(self.folder): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        }


def shown(values):
    values = list(values)
    median = statistics.median(values)
    return rf"{median:.4g} \[{min(values):.4g}, {max(values):.4g}\]"


def rounds_of(content, row, way=None):
    """{round: record} of the cell that a row is about."""
    for cell in content["cells"]:
        texts = {key: TEXTS.get(cell[key], str(cell[key])) for key in KEYS}
        texts["way"] = texts["way"] if way is None else cell["way"]
        wanted = {key: row[key] for key in KEYS} | ({"way": way} if way else {})
        if texts == wanted:
            return {r["round"]: r for r in content["raw"] if r["cell"] == cell["id"]}
    raise AssertionError(row)


def throughput(r):
    return r["bytes"] / r["seconds"] / 1e6


def cpu(part):
    return lambda r: r["cpu_seconds"][part] * (1 << 30) / r["bytes"]


@pytest.fixture
def content():
    return document()


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """(the report of a document, the document)"""
    content = document()
    bench = Bench(tmp_path_factory.mktemp("plain"))
    return Report(bench, {"a.json": content}), content


def test_every_figure_of_the_paper_is_there(plain):
    report, _ = plain
    assert [figure.name for figure in FIGURES if figure.name not in FURTHER] == PAPER
    for figure in FIGURES:
        section = report.section(figure.name)
        assert "Paper: " in section
        measured = figure.name.startswith("Figure")
        assert ("![" in section) == measured
        assert ("Ours: not measured." in section) != measured


def test_without_results_nothing_is_measured(bench):
    report = Report(bench, {"empty.json": document() | {"raw": []}})
    assert "There are no rounds." in report.markdown
    assert "equal" not in report.markdown
    for name in PAPER:
        assert "Ours: not measured." in report.section(name)


QUANTITIES = {
    "Figure 2": ("ms for each request", lambda r: r["latency_us"]["mean"] / 1e3),
    "Figure 9": ("ms for each request", lambda r: r["latency_us"]["mean"] / 1e3),
    "Figure 11": ("MB/s", throughput),
    "Figure 13": ("MB/s", throughput),
} | {
    f"Figure {n}": (
        "CPU s/GiB",
        lambda r: sum(cpu(part)(r) for part in ("client", "datanode", "host")),
    )
    for n in (6, 7, 8, 12)
}


@pytest.mark.parametrize("name", QUANTITIES)
def test_numbers_of_figures_are_those_of_the_raw_rounds(plain, name):
    report, content = plain
    column, quantity = QUANTITIES[name]
    rows = report.rows(name)
    assert len(rows) >= 4
    for row in rows:
        rounds = rounds_of(content, row)
        assert row[column] == shown(map(quantity, rounds.values()))
        assert row["n"] == str(ROUNDS)
        share = shown([50.0 if row["way"] == "vRead" else 0.0] * ROUNDS)
        assert row["% by vRead"] == ("–" if row["workload"] == "write" else share)
        if row["way"] == "stock TCP":
            assert row["ratio to stock"] == "–"
        else:
            stock = rounds_of(content, row, way="stock")
            ratios = [quantity(rounds[n]) / quantity(stock[n]) for n in rounds]
            assert row["ratio to stock"] == shown(ratios)


def test_instructions_are_told_if_they_were_counted(bench, content):
    for r in content["raw"]:
        r["counters"]["instructions"] = (r["index"] + 1) << 25
    section = Report(bench, {"a.json": content})
    rows = section.rows("Instructions")
    assert len(rows) == 7 * 2  # workloads with their requests; stock and vRead
    for row in rows:
        rounds = rounds_of(content, row).values()
        counted = [r["counters"]["instructions"] / r["bytes"] for r in rounds]
        assert row["instructions/byte"] == shown(counted)
        assert row["load"] == "2vms" and row["place"] == "local"
    assert "![" in section.section("Instructions")


def test_readers_at_once_are_told_how_fair_they_are(bench, content):
    """Two readers with 1 and 3 MB/s: 4^2 / (2 * (1 + 9)).  Files of older versions do not tell."""
    for cell in content["cells"]:
        cell["readers"] = 2
    for r in content["raw"]:
        r["reader_rates"] = [1e6, 3e6]
    rows = Report(bench, {"a.json": content}).rows("Fairness")
    assert {row["workload"] for row in rows} == {"sequential", "re-read"}
    assert {row["Jain's index"] for row in rows} == {r"0.8 \[0.8, 0.8\]"}
    assert {row["n"] for row in rows} == {str(ROUNDS)}
    for r in content["raw"]:
        del r["reader_rates"]
    report = Report(bench, {"b.json": content}, "old")
    assert "Ours: not measured." in report.section("Fairness")


def moved(content, **values):
    """The cells with 1 MiB of the place `local` and 2vms, and only these, elsewhere."""
    for cell in content["cells"]:
        if (cell["load"], cell["place"], cell["request"]) == ("2vms", "local", 1 << 20):
            cell.update(values)


@pytest.mark.parametrize(
    ("figure", "setting", "beside"),
    [("Read-ahead", "no-read-ahead", {"default"}), ("Cache modes", "direct", set())],
)
def test_settings_are_in_their_own_figures_only(bench, content, figure, setting, beside):
    moved(content, setting=setting)
    report = Report(bench, {"a.json": content})
    rows = report.rows(figure)
    assert {row["setting"] for row in rows} == {setting} | beside
    assert {(row["place"], row["request"]) for row in rows} == {("local", "1MiB")}
    for row in rows:
        assert row["MB/s"] == shown(map(throughput, rounds_of(content, row).values()))
    for other in ("Figure 9", "Figure 11", "Instructions"):
        section = report.section(other)
        assert f"| {setting} |" not in section


def test_a_setting_without_the_one_it_is_compared_with_is_not_shown(bench, content):
    moved(content, setting="buffered")
    report = Report(bench, {"a.json": content})
    assert "Ours: not measured." in report.section("Cache modes")
    assert {row["setting"] for row in report.rows("All cells")} == {"default", "buffered"}


def test_datanodes_with_several_disks(bench, content):
    moved(content, place="2vms-2disks", readers=4)
    report = Report(bench, {"a.json": content})
    rows = report.rows("Disks")
    assert {row["place"] for row in rows} == {"2vms-2disks"}
    assert {row["workload"] for row in rows} == {"sequential", "re-read"}
    assert {row["way"] for row in rows} == {"stock TCP", "vRead"}
    assert "2vms-2disks" not in report.section("Figure 11")


def test_cells_of_older_files_have_the_default_setting(bench, content):
    new = Report(bench, {"a.json": content}, "new").files()
    for cell in content["cells"]:
        del cell["setting"]
    assert Report(bench, {"a.json": content}, "old").files() == new


def test_the_table_of_all_cells(plain):
    report, content = plain
    rows = report.rows("All cells")
    assert len(rows) == len(content["cells"])
    for row in rows:
        rounds = rounds_of(content, row).values()
        assert row["MB/s"] == shown(map(throughput, rounds))
        assert row["p99 µs"] == shown(r["latency_us"]["p99"] for r in rounds)
        for part in PARTS[:3]:
            assert row[f"CPU s/GiB {part}"] == shown(map(cpu(part), rounds))
        # What nobody counts is a dash, and not 0.
        assert row["CPU s/GiB network"] == row["instructions/byte"] == "–"
        assert row["copies/byte"] == shown([3.0] * ROUNDS)
        assert row["% by vRead"] == shown([50.0 if row["way"] == "vRead" else 0.0] * ROUNDS)


def test_the_same_files_give_the_same_bytes(bench, content):
    other = document(emulated=True, name="second")
    first = Report(bench, {"a.json": content, "b.json": other}, "first").files()
    second = Report(bench, {"b.json": other, "a.json": content}, "second").files()
    assert first == second
    assert len(first) > 2 + 2 * 10


class References(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.plots = [], 0

    def handle_starttag(self, tag, attrs):
        self.plots += tag == "svg"
        assert tag not in ("script", "link", "img", "iframe")
        for name, value in attrs:
            if name in ("src", "href", "xlink:href") and not value.startswith("#"):
                self.found.append(value)


def test_the_page_needs_no_other_file(plain):
    report, _ = plain
    references = References()
    references.feed(report.html)
    assert references.found == []
    assert references.plots == len(list((report.folder / "plots").iterdir())) > 10
    assert "A | B &lt;c&gt;" in report.html
    assert r"A \| B \<c\>" in report.markdown
    for plot in re.findall(r"\]\((plots/.*?)\)", report.markdown):
        assert (report.folder / plot).read_text().startswith("<svg")


@pytest.mark.parametrize(("other", "starts_at_0"), [(40.0, True), (60.0, False)])
def test_small_values_beside_large_ones_can_be_told_from_0(other, starts_at_0):
    spreads = [Spread(3, value, value, value) for value in (1.0, other)]
    svg = plots.curves("name", "MB/s", ["a", "b"], [("way", "stock", 0, spreads)], joined=False)
    assert bool(re.search(r">0(\.0)?</text>", svg)) == starts_at_0


def test_curves_of_one_way_have_markers_of_their_own():
    drawn = [(name, "stock", style, [Spread(3, 1.0, 1.0, 1.0)]) for style, name in enumerate("ab")]
    shapes = [
        set(re.findall(r'<path id="m\w+" d="([^"]*)"', plots.curves("n", "s", ["x"], one, False)))
        for one in (drawn[:1], drawn[1:], drawn)
    ]
    assert shapes[0] != shapes[1]
    assert shapes[2] == shapes[0] | shapes[1]


def test_bars_are_named_by_what_differs(bench, content):
    """All cells have the image `raw`, so no bar is named by it."""
    report = Report(bench, {"one.json": content})
    (path,) = (report.folder / "plots").glob("figure-8-*.svg")
    texts = re.findall(r"<text[^>]*>([^<]*)", path.read_text())
    assert {"remote-tls", "remote-plain"} <= set(texts)
    assert "raw" not in texts


def test_wrong_bytes_come_first_and_have_no_number(bench, content):
    bad = content["raw"][5]
    cell = bad["cell"]
    content["raw"][5] = {k: bad[k] for k in ("index", "round", "cell")} | {"wrong": "bytes 1..2"}
    report = Report(bench, {"a.json": content})
    assert "WRONG BYTES in 1 rounds" in report.markdown
    assert report.markdown.index("WRONG BYTES") < report.markdown.index("## Targets")
    counts = [row["n"] for row in report.rows("All cells")]
    assert sorted(counts) == [str(ROUNDS - 1)] + [str(ROUNDS)] * (len(counts) - 1)
    left = [throughput(r) for r in content["raw"] if r["cell"] == cell and "wrong" not in r]
    assert shown(left) in report.markdown


def test_caches_that_were_not_emptied_are_told(bench, content):
    for r in content["raw"]:
        (workload,) = (c["workload"] for c in content["cells"] if c["id"] == r["cell"])
        r["cold"] = False if workload == "sequential" else None
    section = Report(bench, {"a.json": content}).section("Figure 9")
    cold, warm = section.split("### ")[1:]
    assert cold.startswith("Figure 9, sequential") and "Caches were NOT emptied" in cold
    assert "NOT" not in warm


def test_emulation_is_told(bench, content):
    real = Report(bench, {"a.json": content}, "real").section("What emulation distorts")
    assert "No target of this report is emulated" in real
    other = Report(bench, {"a.json": document(emulated=True)}, "emulated")
    assert "says how fast vRead is" in other.section("What emulation distorts")
    assert other.rows("Targets")[0]["processors"] == "emulated"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.update(format=2), "no result file of format 1"),
        (lambda c: c.pop("raw"), "lacks raw"),
        (lambda c: c["cells"][0].pop("way"), "a cell lacks way"),
        (lambda c: c["raw"][3].update(cell="x"), "round 3 is of no cell"),
        (lambda c: c["raw"][3].update(seconds="2"), "round 3: seconds: '2'"),
        (lambda c: c["raw"][3].update(bytes=0), "round 3: bytes: 0"),
        (lambda c: c["raw"][3].update(round=None), "round 3: round: None"),
        (lambda c: c["raw"][3].update(reader_rates=[1, "x"]), "round 3: reader_rates: [1, 'x']"),
        (
            lambda c: c["raw"][3].update(latency_us={"p50": None}),
            "round 3: latency_us: {'p50': None}",
        ),
        (lambda c: c["raw"][3].update(counters=None), "round 3: counters: None"),
        (
            lambda c: c["raw"][3].update(bytes_by={"vread": True}),
            "round 3: bytes_by: {'vread': True}",
        ),
    ],
)
def test_what_is_no_result_is_an_error(bench, content, change, said):
    change(content)
    path = bench.folder / "bad.json"
    path.write_text(json.dumps(content))
    done = bench.call("report", "--out", bench.folder / "r", path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"vread-bench: {path}: {said}")
    assert len(done.stderr.splitlines()) == 1
    assert not (bench.folder / "r").exists()
