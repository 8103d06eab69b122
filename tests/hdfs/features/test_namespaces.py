# SPDX-License-Identifier: GPL-2.0-or-later
"""Several namespaces on one set of datanodes, by their own URIs and below ViewFs.

Block tokens name the storages of a block.  Without tokens, as in the column of Hadoop 3.3.6, the
plug-in asks the NameNodes when two datanodes of the host have the block.
"""

import pytest

from tests.support.hadoop_bed import served

pytestmark = pytest.mark.hadoop


def _write_twins(bed, name):
    """Files of one name and length in both namespaces, with other bytes.  Returns [(uri, seed)]."""
    twins = [(f"{uri}/{name}", seed) for uri, seed in zip(bed.hdfs.uris, (11, 22), strict=True)]
    for uri, seed in twins:
        bed.client.do("write-at", uri=uri, seed=seed)
    return twins


def test_same_path_in_two_namespaces(bed, cells):
    """A reader that mixed the block pools would get the other file's bytes.  The namespaces are
    read in turn, so that everything is cached that can be."""
    twins = _write_twins(bed, "twin")
    for uri, seed in [*twins, *twins]:
        cells("federation", uri, seed=seed)


def _write_one_block(bed, uri, seed):
    """Returns the name of the block and its number."""
    bed.client.do("write-at", uri=uri, seed=seed, size=4000, unsettled=True)
    (name,) = bed.client.do("where-at", uri=uri)["blocks"]
    return name, int(name.split("_")[1])


def test_equal_block_names_in_two_pools(bed):
    """Both NameNodes count blocks from the same number.  Files are written in the namespace that is
    behind until its last block has the name of the other's.  Only the pool tells them apart."""
    uris = bed.hdfs.uris
    found = {uri: _write_one_block(bed, f"{uri}/first", 1) for uri in uris}
    ahead = max(uris, key=lambda uri: found[uri][1])
    behind = next(uri for uri in uris if uri != ahead)
    while found[behind][1] < found[ahead][1]:
        found[behind] = _write_one_block(bed, f"{behind}/first", 2)
    assert found[behind] == found[ahead], "the same block id and the same generation stamp"
    seeds = {ahead: 1, behind: 2}
    bed.client.do("write-at", uri=f"{ahead}/settled")  # waits until all that was written is seen
    for uri in [*uris, *uris]:
        answer = bed.client.do("read-at", uri=f"{uri}/first", seed=seeds[uri], size=4000)
        served(answer)


def test_a_deletion_concerns_one_namespace(bed):
    (first, _), (second, seed) = _write_twins(bed, "deleted")
    assert bed.client.do("delete-at", uri=first)["deleted"]
    for _ in range(2):
        served(bed.client.do("read-at", uri=second, seed=seed))


def test_symbolic_links(bed, cells):
    """Links of the first namespace, to a file beside them and to one of the second namespace."""
    for number, (uri, seed) in enumerate(_write_twins(bed, "linked"), start=1):
        link = f"{bed.hdfs.uri}/link-{number}"
        bed.client.do("link-at", uri=uri, link=link)
        cells("symbolic link", link, seed=seed)


def test_viewfs(bed, cells):
    """Both namespaces below one tree of ViewFs."""
    for number, (_, seed) in enumerate(_write_twins(bed, "mounted"), start=1):
        cells("ViewFs", f"viewfs://vread/ns{number}/mounted", seed=seed)
