# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the report of result files: report.html, which needs no other file, and report.md with its
plots beside it.  The same files give the same bytes.

`__main__` calls write().  A page is a list of blocks, which `markup` turns into both languages.
"""

import itertools

from . import plots, summary
from .figures import FIGURES
from .located import size_text
from .markup import Heading, Paragraph, Plot, Table, html, markdown
from .spec import DEFAULT

WAYS = {"stock": "stock TCP", "vread": "vRead", "short-circuit": "short-circuit"}
EMULATION = (
    "Some of these targets are emulated: every instruction of guests, dom0 and hypervisor is "
    "translated by QEMU. Seconds, MB/s and CPU seconds are then those of the translator. They are "
    "distorted in known directions: code that computes (checksums, TLS, the JVM) is slowed most, "
    "since vector instructions become calls; copies of memory are slowed less; switches between "
    "guests and page table changes, which cost much on real processors, cost little more than any "
    "code; devices and disks of the host run at full speed; and there are no caches to miss. So of "
    "an emulated target only counts can be trusted (copies for each byte, instructions, bytes by "
    "way), and ratios between ways only as a hint. No figure of an emulated target says how fast "
    "vRead is."
)
WARM = (
    "Caches were NOT emptied before these sequential reads: the target has no commands for that. "
    "They must not be compared with reads from a disk."
)
REAL = (
    "No target of this report is emulated. Emulated targets would distort seconds and CPU seconds, "
    "and only their counts could be trusted."
)


def write(results, folder):
    """results: [(name of the file, document)], in any order."""
    blocks = _page(sorted(results, key=lambda result: result[0]))
    (folder / "plots").mkdir(parents=True, exist_ok=True)
    for old in (folder / "plots").glob("*.svg"):
        old.unlink()
    for block in blocks:
        if isinstance(block, Plot):
            (folder / block.path).write_text(block.svg)
    (folder / "report.md").write_text(markdown(blocks))
    (folder / "report.html").write_text(html(blocks))


def _page(results):
    cells = summary.summarise(results)
    blocks = [Heading(1, "vRead: measurements beside those of the paper")]
    blocks += [
        Paragraph(
            "The paper is “vRead: Efficient Data Access for Hadoop in Virtualized Clouds” "
            "(Middleware 2015, KVM on a quad-core machine, Hadoop 1.2.1). Its numbers are quoted "
            "as its text gives them. Ours are medians of n rounds, with the least and the most in "
            "brackets. A ratio is the median of the ratios of each round. Hosts, versions of "
            "Hadoop and sizes differ from the paper's, so only ratios may be compared."
        )
    ]
    blocks += _wrong(cells)
    blocks += _targets(results)
    blocks += [Heading(2, "What emulation distorts")]
    emulated = any(t["emulated"] for _, r in results for t in r["targets"].values())
    blocks += [Paragraph(EMULATION if emulated else REAL)]
    for figure in FIGURES:
        blocks += _figure(figure, cells)
    return blocks + _all(cells)


def _wrong(cells):
    wrong = [(cell, text) for cell in cells for text in cell.wrong]
    if not any(cell.rounds or cell.wrong for cell in cells):
        return [Paragraph("There are no rounds.")]
    if not wrong:
        return [Paragraph("Every byte of every round was compared with what was written: equal.")]
    rows = [[cell.by, *_key(cell), text] for cell, text in wrong]
    return [
        Heading(2, f"WRONG BYTES in {len(wrong)} rounds"),
        Paragraph("These rounds have no numbers. Nothing else matters until this is explained."),
        Table(["target", *KEY_HEAD, "what"], rows),
    ]


def _targets(results):
    rows = []
    for name, result in results:
        for target, about in sorted(result["targets"].items()):
            client = about["client"]
            machine = f"{client['cpus']} CPUs, {client['cpu']}, {client['memory']}"
            versions = ", ".join(f"{k} {v}" for k, v in sorted(about["versions"].items()))
            emulated = "emulated" if about["emulated"] else "real"
            rows.append([target, name, about["kind"], emulated, machine, client["kernel"], versions,
                         str(result["rounds"]), str(result["seed"])])  # fmt: skip
    head = [
        "target",
        "file",
        "kind",
        "processors",
        "client",
        "kernel",
        "versions",
        "rounds",
        "seed",
    ]
    return [Heading(2, "Targets"), Table(head, rows) if rows else Paragraph("not measured")]


def _figure(figure, cells):
    blocks = [Heading(2, f"{figure.name}: {figure.title}"), Paragraph(f"Paper: {figure.paper}")]
    if figure.note:
        blocks.append(Paragraph(f"Note: {figure.note}"))
    shown = []
    for panel in figure.panels:
        for by in sorted({cell.by for cell in cells}):
            matching = [c for c in cells if c.by == by and matches(c, panel.only)]
            needed = [cell for cell in matching if matches(cell, panel.only | panel.needs)]
            if any(cell.spread(figure.quantity) for cell in needed):
                shown += _panel(figure, panel, by, matching)
    return blocks + (shown or [Paragraph("Ours: not measured.")])


def matches(cell, only):
    """Other settings than the default are only in panels that ask for them."""
    only = {"setting": (DEFAULT,)} | only
    return all(cell.key[key] in allowed for key, allowed in only.items())


def _panel(figure, panel, by, cells):
    slug = "-".join([figure.name, panel.title.partition(":")[0], by]).lower()
    slug = "".join(c if c.isalnum() else "-" for c in slug)
    draw = _stacks if panel.parts else _lines
    svg = draw(slug, figure, panel, cells)
    title = f"{figure.name}, {panel.title}, target {by}"
    blocks = [Heading(3, title), Plot(f"plots/{slug}.svg", svg, title)]
    if any(record["cold"] is False for cell in cells for record in cell.rounds.values()):
        blocks.append(Paragraph(WARM))
    return [*blocks, _compared(figure, cells)]


def _lines(slug, figure, panel, cells):
    """A point for each x, a curve for each way and value of the other keys."""
    xs = sorted({_x(panel, cell) for cell in cells}, key=lambda x: _rank(panel, x))
    other = [key for key in summary.KEYS if key not in panel.x and key != "way"]
    vary = [key for key in other if len({cell.key[key] for cell in cells}) > 1]
    curves = {}
    for cell in cells:
        rest = tuple(cell.key[key] for key in vary)
        curves.setdefault((rest, cell.key["way"]), {})[_x(panel, cell)] = cell
    styles = {rest: i for i, rest in enumerate(sorted({rest for rest, _ in curves}, key=str))}
    drawn = []
    for (rest, way), points in sorted(curves.items(), key=lambda curve: str(curve[0])):
        spreads = [points[x].spread(figure.quantity) if x in points else None for x in xs]
        drawn.append((", ".join([WAYS[way], *map(_text, rest)]), way, styles[rest], spreads))
    labels = ["\n".join(map(_text, x)) for x in xs]
    return plots.curves(slug, figure.unit, labels, drawn, joined=panel.x == ("request",))


def _rank(panel, x):
    """The order on the x axis: that of the panel's values where it names them."""
    named = zip(panel.x, x, strict=True)
    return [panel.only[key].index(value) if key in panel.only else 0 for key, value in named] + [
        str(value).zfill(12) for value in x
    ]


def _stacks(slug, figure, panel, cells):
    """A bar for each cell, named by what differs between them."""
    xs = [_x(panel, cell) for cell in cells]
    vary = [len(set(values)) > 1 for values in zip(*xs, strict=True)]
    labels = [
        "\n".join([WAYS[cell.key["way"]], *map(_text, itertools.compress(x, vary))])
        for cell, x in zip(cells, xs, strict=True)
    ]
    parts = []
    for part in summary.PARTS:
        spreads = [cell.spread(summary.cpu(part)) for cell in cells]
        if any(spreads):
            parts.append((part, [s.median if s else None for s in spreads]))
    return plots.stacks(slug, figure.unit, labels, parts)


def _x(panel, cell):
    return tuple(cell.key[key] for key in panel.x)


def _compared(figure, cells):
    """A row for each cell; with the ratio to stock for the others."""
    stock = {cell.point: cell for cell in cells if cell.key["way"] == "stock"}
    split = figure.unit == "CPU s/GiB"
    rows = []
    for cell in cells:
        found = cell.spread(figure.quantity)
        base = stock.get(cell.point)
        by_stock = summary.ratio(cell, base, figure.quantity) if base and base is not cell else None
        parts = [number(cell.spread(summary.cpu(part))) for part in summary.PARTS] if split else []
        n = str(found.n) if found else "0"
        reads = cell.key["workload"] != "write"
        by_vread = number(cell.spread(summary.share("vread"))) if reads else "–"
        rows.append([*_key(cell), number(found), *parts, n, number(by_stock), by_vread])
    head = [*KEY_HEAD, figure.unit, *(summary.PARTS if split else ()), "n", "ratio to stock"]
    head += ["% by vRead"]
    return Table(head, rows)


def _all(cells):
    rows = []
    for cell in cells:
        told = cell.spread(summary.throughput)
        columns = [summary.throughput, *map(summary.percentile, ("p50", "p99", "p999"))]
        columns += [summary.cpu(part) for part in summary.PARTS]
        columns += [summary.each_byte("copied-bytes"), summary.each_byte("instructions")]
        columns += [summary.share("vread")]
        n = str(told.n) if told else "0"
        rows.append([cell.by, *_key(cell), n, *(number(cell.spread(c)) for c in columns)])
    head = ["target", *KEY_HEAD, "n", "MB/s", "p50 µs", "p99 µs", "p99.9 µs"]
    head += [f"CPU s/GiB {part}" for part in summary.PARTS]
    head += ["copies/byte", "instructions/byte", "% by vRead"]
    return [
        Heading(2, "All cells"),
        Paragraph("A dash: the target does not tell."),
        Table(head, rows) if rows else Paragraph("not measured"),
    ]


KEY_HEAD = list(summary.KEYS)


def _key(cell):
    return [_text(value) for value in cell.key.values()]


def _text(value):
    if isinstance(value, int):
        return size_text(value) if value >= 4096 else str(value)
    return WAYS.get(value, value)


def number(spread):
    """`median [least, most]` with four significant digits; a dash for None."""
    if spread is None:
        return "–"
    if spread.n == 1:
        return f"{spread.median:.4g}"
    return f"{spread.median:.4g} [{spread.least:.4g}, {spread.most:.4g}]"
