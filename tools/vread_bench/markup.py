# SPDX-License-Identifier: GPL-2.0-or-later
"""The blocks of a page, and how they look in Markdown and in HTML.  `pages` makes and writes them.
All texts are data: nothing in them is taken as markup."""

import html as escaping
import re
from dataclasses import dataclass

STYLE = """
body { font: 15px/1.5 sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; }
table { border-collapse: collapse; display: block; font-size: 13px; overflow-x: auto; }
td, th { border-bottom: 1px solid #ddd; padding: 2px 8px; text-align: left; white-space: nowrap; }
svg { height: auto; max-width: 100%; }
"""


@dataclass(frozen=True)
class Heading:
    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Table:
    head: list
    rows: list


@dataclass(frozen=True)
class Plot:
    path: str  # relative to the page in Markdown
    svg: str
    title: str


def markdown(blocks):
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def html(blocks):
    title = next(block.text for block in blocks if isinstance(block, Heading))
    body = "\n".join(_html(block) for block in blocks)
    head = f'<meta charset="utf-8">\n<title>{escaping.escape(title)}</title>\n'
    head += f"<style>{STYLE}</style>"
    page = f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n'
    return page + f"<body>\n{body}\n</body>\n</html>\n"


def _markdown(block):
    match block:
        case Heading(level, text):
            return f"{'#' * level} {_plain(text)}"
        case Paragraph(text):
            return _plain(text)
        case Plot(path, _, title):
            return f"![{_plain(title)}]({path})"
        case Table(head, rows):
            lines = [head, ["---"] * len(head), *rows]
            return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _plain(text):
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text.replace("\n", " "))


def _cell(text):
    return text if text == "---" else _plain(text)


def _html(block):
    match block:
        case Heading(level, text):
            return f"<h{level}>{escaping.escape(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{escaping.escape(text)}</p>"
        case Plot(_, svg, title):
            return f'<figure aria-label="{escaping.escape(title)}">\n{svg}</figure>'
        case Table(head, rows):
            lines = [_row("th", head), *(_row("td", row) for row in rows)]
            return "<table>\n" + "\n".join(lines) + "\n</table>"


def _row(tag, texts):
    cells = "".join(f"<{tag}>{escaping.escape(text)}</{tag}>" for text in texts)
    return f"<tr>{cells}</tr>"
