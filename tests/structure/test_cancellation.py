# SPDX-License-Identifier: GPL-2.0-or-later
"""Each call of libvread keeps pthread_cancel() out from its beginning (cancel.h)."""

import re
from pathlib import Path

import pytest

LIBRARY = Path(__file__).resolve().parents[2] / "hdfs-native/libvread"
CALLS = re.findall(r"^\t(vread_\w+);$", (LIBRARY / "libvread.map").read_text(), re.M)
SOURCE = "".join(path.read_text() for path in sorted(LIBRARY.glob("*.c")))


def test_there_are_calls():
    assert len(CALLS) > 15


@pytest.mark.parametrize("call", sorted(set(CALLS) - {"vread_strerror"}))
def test_begins_with_no_cancel(call):
    body = re.search(rf"^[a-z][^;{{}}]*\b{call}(?:_0_1_0)?\([^;{{}}]*\)\n{{\n(.*)\n", SOURCE, re.M)
    assert body[1] == "\tNO_CANCEL;"
