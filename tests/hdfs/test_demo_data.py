# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the demo's data (tools/hdfs/demo_data.py): it must be made only once, and the layout
that libguestfs finds must equal the layout that the maker of the image knows."""

import json

import pytest

from tools.hdfs.demo_data import demo_image
from tools.images import layout_of

pytestmark = [pytest.mark.hadoop, pytest.mark.timeout(3600)]  # missing data is made first

MIB, BLOCK_MIB = 64, 8


def small(layout=False):
    return demo_image(mib=MIB, block_mib=BLOCK_MIB, layout=layout)


@pytest.mark.slow
def test_provisioned_layout_is_the_makers():
    data = small(layout=True)
    assert json.loads(data.layout.read_text()) == layout_of(data.image_facts)


def test_it_is_made_once():
    first = small()
    made = first.image.stat()
    again = small()
    assert again == first
    assert again.image.stat().st_mtime_ns == made.st_mtime_ns


def test_blocks_make_up_the_file():
    data = small()
    assert sum(block.length for block in data.blocks) == data.size == MIB << 20
    assert {block.length for block in data.blocks} == {BLOCK_MIB << 20}
    assert len(data.sha256) == 64
