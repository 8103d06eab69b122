# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws the plots of a report as SVG by matplotlib, the same bytes for the same numbers.

`pages` calls curves() and stacks().  Error bars are the least and the most of all rounds.
"""

import io

from .errors import BenchError

COLOURS = {"stock": "#888888", "vread": "#1f6fb4", "short-circuit": "#d08a1d"}
STYLES = ("-", "--", ":", "-.")
MARKERS = "os^D"
PART_COLOURS = ("#1f6fb4", "#7fb3d9", "#d08a1d", "#888888")
SIZE = (6.4, 3.2)  # inches
LOGARITHMIC = 50  # so many times the least median: it could not be told from 0 on a linear scale
WIDE_LABELS = 6  # more of them touch each other in letters of usual size
SHIFT = 0.12  # between points of the same x


def curves(name, unit, labels, drawn, joined):
    """labels: of the x axis.  drawn: [(label, way, number of the style, [Spread or None])].
    joined: the x axis is a scale, so that lines between points mean something."""
    joined = joined and len(labels) > 1
    figure, axes, save = _start(name)
    for index, (label, way, style, spreads) in enumerate(drawn):
        shift = 0 if joined else SHIFT * (index - (len(drawn) - 1) / 2)
        points = [(x + shift, s) for x, s in enumerate(spreads) if s is not None]
        middle = [s.median for _, s in points]
        bars = [[s.median - s.least for _, s in points], [s.most - s.median for _, s in points]]
        axes.errorbar(
            [x for x, _ in points], middle, yerr=bars, label=label, capsize=3,
            marker=MARKERS[style % len(MARKERS)], markersize=4, color=COLOURS[way],
            linestyle=STYLES[style % len(STYLES)] if joined else "none",
        )  # fmt: skip
    found = [s.median for *_, spreads in drawn for s in spreads if s is not None]
    if max(found) > LOGARITHMIC * min(found) > 0:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
    return _finish(figure, axes, save, unit, labels)


def stacks(name, unit, labels, parts):
    """A bar for each label.  parts: [(label, [height or None])], from the lowest up."""
    figure, axes, save = _start(name)
    floor = [0.0] * len(labels)
    for index, (label, heights) in enumerate(parts):
        known = [height or 0.0 for height in heights]
        axes.bar(
            range(len(labels)), known, 0.6, bottom=floor, label=label,
            color=PART_COLOURS[index % len(PART_COLOURS)],
        )  # fmt: skip
        floor = [a + b for a, b in zip(floor, known, strict=True)]
    return _finish(figure, axes, save, unit, labels)


def _start(name):
    try:
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as error:
        raise BenchError("matplotlib is missing: apt install python3-matplotlib") from error

    figure = Figure(figsize=SIZE, layout="constrained")
    FigureCanvasSVG(figure)

    def save():
        out = io.StringIO()
        # The salt makes the ids in the SVG; without it they are random.
        settings = {"svg.hashsalt": name, "svg.fonttype": "none"}
        with matplotlib.rc_context(settings):
            figure.savefig(out, format="svg", metadata={"Date": None, "Creator": "vread-bench"})
        return out.getvalue()

    return figure, figure.add_subplot(), save


def _finish(figure, axes, save, unit, labels):
    if axes.get_yscale() != "log":
        # A stack of bars gets no room above it by itself.
        axes.set_ylim(0, 1.05 * max(axes.dataLim.y1, 1e-9))
    axes.set_xlim(-0.5, len(labels) - 0.5)
    axes.set_ylabel(unit)
    axes.set_xticks(range(len(labels)), labels, fontsize=8 if len(labels) <= WIDE_LABELS else 6.5)
    axes.grid(axis="y", linewidth=0.4)
    # Above the plot, where it hides no point.
    axes.legend(
        fontsize=8, ncol=4, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0)
    )  # fmt: skip
    text = save()
    return text[text.index("<svg") :]
