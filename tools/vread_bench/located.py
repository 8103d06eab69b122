# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads YAML files of the operator.  Each mistake is told with file, line and key.

`spec` and `targets` call load() and take every key out of the Section that they get.  PyYAML makes
a tree of nodes with line numbers; it converts no value, so `no` and `1e3` stay texts.  The readers
here decide what a text means.  done() refuses keys that nobody has read: a misspelt key must not
count as absent.

All mistakes of a file are told at once.  `spec` and `targets` call the readers through noted(),
which writes down a mistake and goes on with None; end() raises all that was written down.  Nothing
is concluded from None: one mistake must not be told twice.
"""

import re

import yaml

from .errors import PlaceError, PlaceErrors

_REQUIRED = object()
SIZE = re.compile(r"(\d+) ?(KiB|MiB|GiB)?")
UNITS = {None: 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def load(path):
    """The Section of the whole file."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise PlaceError(path, 0, "", f"cannot be read: {error}") from error
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise PlaceError(path, line, "", f"not YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise PlaceError(path, 0, "", f"not YAML: {error}") from error
    if not isinstance(node, yaml.MappingNode):
        raise PlaceError(path, 1, "", "expected lines of the form `key: value`")
    return Section(path, "", node, [])


class Section:
    """A mapping of the file.  `key` is the path of keys that leads to it.  mistakes: of the file so
    far."""

    def __init__(self, path, key, node, mistakes):
        self.path, self.key, self.line = path, key, node.start_mark.line + 1
        self.mistakes = mistakes
        self._values, self._lines, self._read = {}, {}, set()
        for name, value in node.value:
            line = name.start_mark.line + 1
            if not isinstance(name, yaml.ScalarNode):
                mistakes.append(PlaceError(path, line, key, "a key must be a word"))
            elif name.value in self._values:
                full = self._full(name.value)
                mistakes.append(PlaceError(path, line, full, "is there twice"))
            else:
                self._values[name.value], self._lines[name.value] = value, line

    def __contains__(self, name):
        return name in self._values

    def names(self):
        return list(self._values)

    def noted(self, read, *words, **named):
        """What read() returns.  None: it has found a mistake, which end() will tell."""
        try:
            return read(*words, **named)
        except PlaceError as error:
            self.mistakes.append(error)
            return None

    def end(self):
        """Raises all mistakes of the file, if there are any."""
        if len(self.mistakes) == 1:
            raise self.mistakes[0]
        if self.mistakes:
            raise PlaceErrors(self.mistakes)

    def fail(self, name, message):
        """Raises the error about a key of this section.  The key may be absent from the file; an
        empty `name` is the section itself."""
        raise PlaceError(self.path, self._lines.get(name, self.line), self._full(name), message)

    def text(self, name, default=_REQUIRED):
        node = self._take(name, default)
        return default if node is None else self._scalar(name, node)

    def name(self, name):
        """A word that may be part of a file's name."""
        text = self.text(name)
        if not NAME.fullmatch(text):
            self.fail(name, f"{text!r}: expected letters, digits, `.`, `_`, `-`")
        return text

    def number(self, name, least, most, default=_REQUIRED):
        node = self._take(name, default)
        return default if node is None else self._number(name, node, least, most)

    def numbers(self, name, least, most, default=_REQUIRED):
        nodes = self._list(name, default)
        return default if nodes is None else self._each(nodes, self._number, name, least, most)

    def size(self, name, least, most, default=_REQUIRED):
        node = self._take(name, default)
        return default if node is None else self._size(name, node, least, most)

    def sizes(self, name, least, most):
        return self._each(self._list(name, _REQUIRED), self._size, name, least, most)

    def truth(self, name, default):
        text = self.text(name, None)
        if text is None:
            return default
        if text not in ("yes", "no", "true", "false"):
            self.fail(name, f"{text!r}: expected yes or no")
        return text in ("yes", "true")

    def texts(self, name, default=_REQUIRED, allowed=None):
        """A list of texts; a single text counts as a list of one."""
        nodes = self._list(name, default)
        if nodes is None:
            return default
        return self._each(nodes, self._allowed, name, allowed)

    def pairs(self, name):
        """A mapping of texts; absent: empty."""
        section = self.section(name, optional=True)
        return {key: section.text(key) for key in section.names()} if section else {}

    def section(self, name, optional=False):
        node = self._take(name, None if optional else _REQUIRED)
        if node is None:
            return None
        if isinstance(node, yaml.ScalarNode) and node.value == "":
            return Section(self.path, self._full(name), _nothing(node), self.mistakes)
        if not isinstance(node, yaml.MappingNode):
            self._refuse(name, node, "expected lines of the form `key: value` below it")
        return Section(self.path, self._full(name), node, self.mistakes)

    def named(self, name, optional=False):
        """{key: Section} of a mapping whose keys the operator chooses, without wrong ones."""
        section = self.section(name, optional)
        keys = section.names() if section else ()
        found = {key: section.noted(section.section, key) for key in keys}
        return {key: part for key, part in found.items() if part}

    def sections(self, name, optional=False):
        """A list of sections."""
        node = self._take(name, None if optional else _REQUIRED)
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            self._refuse(name, node, "expected a list, each item after `- `")
        for item in node.value:
            if not isinstance(item, yaml.MappingNode):
                self._refuse(name, item, "expected `key: value` after `- `")
        full = self._full(name)
        return [
            Section(self.path, f"{full}[{i}]", item, self.mistakes)
            for i, item in enumerate(node.value)
        ]

    def done(self):
        """Notes each key that nobody has read."""
        known = ", ".join(sorted(self._read))
        for name in self._values:
            if name not in self._read:
                self.noted(self.fail, name, f"no such key; known here: {known}")

    def _full(self, name):
        return ".".join(part for part in (self.key, name) if part)

    def _take(self, name, default):
        self._read.add(name)
        if name in self._values:
            return self._values[name]
        if default is _REQUIRED:
            self.fail(name, "is missing")
        return None

    def _list(self, name, default):
        node = self._take(name, default)
        if node is None:
            return None
        items = node.value if isinstance(node, yaml.SequenceNode) else [node]
        if not items:
            self._refuse(name, node, "is an empty list")
        texts = [self._scalar(name, item) for item in items]
        for i, item in enumerate(items):
            if texts[i] in texts[:i]:
                self.noted(self._refuse, name, item, f"{texts[i]} is there twice")
        return [item for i, item in enumerate(items) if texts[i] not in texts[:i]]

    def _each(self, nodes, read, name, *words):
        """What read() makes of each node.  Fails after the last if there was a mistake."""
        before = len(self.mistakes)
        found = [self.noted(read, name, node, *words) for node in nodes]
        if len(self.mistakes) > before:
            raise self.mistakes.pop()
        return found

    def _allowed(self, name, node, allowed):
        text = self._scalar(name, node)
        if allowed is not None and text not in allowed:
            self._refuse(name, node, f"{text!r}: expected one of {', '.join(allowed)}")
        return text

    def _scalar(self, name, node):
        if not isinstance(node, yaml.ScalarNode):
            self._refuse(name, node, "expected a single value")
        return node.value

    def _number(self, name, node, least, most):
        text = self._scalar(name, node)
        if not re.fullmatch(r"\d{1,18}", text) or not least <= int(text) <= most:
            self._refuse(name, node, f"{text!r}: expected a number from {least} to {most}")
        return int(text)

    def _size(self, name, node, least, most):
        text = self._scalar(name, node)
        match = SIZE.fullmatch(text)
        size = int(match[1]) * UNITS[match[2]] if match else -1
        if not least <= size <= most:
            expected = f"expected a size from {size_text(least)} to {size_text(most)}"
            self._refuse(name, node, f"{text!r}: {expected}")
        return size

    def _refuse(self, name, node, message):
        raise PlaceError(self.path, node.start_mark.line + 1, self._full(name), message)


def _nothing(node):
    return yaml.MappingNode("tag:yaml.org,2002:map", [], node.start_mark, node.end_mark)


def size_text(size):
    """The shortest exact text of a size: 65536 is 64KiB."""
    for unit, factor in reversed(UNITS.items()):
        if size >= factor and size % factor == 0:
            return f"{size // factor}{unit or ''}"
    return str(size)
