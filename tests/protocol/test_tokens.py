# SPDX-License-Identifier: GPL-2.0-or-later
"""Block tokens.  If a datanode gave keys, or the operator requires tokens, a client needs a valid
token to open a block, also a block of another host."""

import contextlib
import errno
import json
import subprocess

import pytest

from tests.support.block_token import (
    ENCODINGS,
    SHA1,
    SHA256,
    SHA384,
    SHA512,
    Key,
    make_token,
    protobuf,
    soon,
    writable,
)
from tests.support.daemon import PUBLISHER, STORAGE, binary, open_status, second_datanode
from tests.support.hdfs_dir import POOL, DataDirectory
from tests.support.localfront import KEYS, PAGE, LocalFront, keys_part, open_data
from tests.support.peers import free_address
from tests.support.reloading import changed, reload
from tools.images import make_datanode_image, write_layout
from tools.peers import Authority, peer
from tools.vreadd import Vreadd

LOCAL = PUBLISHER  # of `daemon`
KEY = Key(1234567)
DAY = 86400  # s
SECRET = b"sEcReT-of-BLOCKS"


@pytest.fixture
def front(daemon):
    """A frontend of a host whose datanode gave KEY."""
    with daemon.front() as connected:
        assert connected.keys(POOL, STORAGE, [KEY]) == 0
        yield connected


def tokens_of(daemon, datanode="dn1"):
    return {d["datanode"]: d["tokens"] for d in daemon.status()["datanodes"]}[datanode]


# ---- which tokens open a block -----------------------------------------------------------


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("algorithm", [SHA1, SHA256, SHA384, SHA512])
def test_a_valid_token(front, image, block, encoding, algorithm):
    key = Key(-5, b"\0" * 64, algorithm)
    assert front.keys(POOL, STORAGE, [KEY, key]) == 0
    token = make_token(key, POOL, block.id, encoding)
    response = front.open(block.id, block.genstamp, POOL, [STORAGE], token)
    assert response.status == 0
    assert front.read(response.handle, 5, 1000) == image.contents[block.id][5:1005]


def bad_tokens(block_id):
    yield "missing", b""
    yield "malformed", b"\x05"
    for encoding in ENCODINGS:
        good = make_token(KEY, POOL, block_id, encoding)
        yield "malformed", good[:-1]
        yield "malformed", good + b"\0"
        yield "malformed", make_token(KEY, POOL + "\0", block_id, encoding)
        yield "malformed", make_token(KEY, "B" * 256, block_id, encoding)
        yield "unknown-key", make_token(Key(1), POOL, block_id, encoding)
        yield "forged", make_token(Key(KEY.id, b"another-"), POOL, block_id, encoding)
        yield "expired", make_token(KEY, POOL, block_id, encoding, expiry=soon(-1))
        yield "of-another-block", make_token(KEY, POOL, block_id + 1, encoding)
        yield "of-another-block", make_token(KEY, "BP-other", block_id, encoding)
        yield "not-for-reading", make_token(KEY, POOL, block_id, encoding, modes=["WRITE", "COPY"])


@pytest.mark.parametrize("number", range(1 + 1 + 10 * len(ENCODINGS)))
def test_no_other_does(daemon, front, block, number):
    reason, token = list(bad_tokens(block.id))[number]
    before = tokens_of(daemon)["refused"].get(reason, 0)
    assert open_status(front, block, token) == -errno.EPERM
    assert tokens_of(daemon)["refused"][reason] == before + 1
    response = front.open(block.id, block.genstamp, POOL, [STORAGE], token)
    assert (response.handle, response.flags, response.u) == (0, 0, bytes(16))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_largest(front, block, encoding):
    storages = [f"DS-{n}" for n in range(700)]
    token = make_token(KEY, POOL, block.id, encoding, storages=storages)
    assert 5000 < len(token) < 8192
    assert open_status(front, block, token) == 0


def test_who_may_not_read_learns_nothing(front, block):
    """Without a token for the block, a client does not learn whether the block exists."""
    assert front.open(4711, 1, POOL, [STORAGE]).status == -errno.EPERM
    assert front.open(4711, 1, POOL, [STORAGE], make_token(KEY, POOL, 4711)).status == -errno.ENOENT
    assert front.open(block.id, 1, POOL, [STORAGE]).status == -errno.EPERM
    assert front.open(block.id, 1, "BP-unknown", [STORAGE]).status == -errno.ENODEV


def test_open_blocks_stay_open(daemon, front, image, block):
    """An open block stays readable after its token has expired, as in HDFS."""
    token = make_token(KEY, POOL, block.id, expiry=daemon.clock.ms + 10_000)
    response = front.open(block.id, block.genstamp, POOL, [STORAGE], token)
    assert response.status == 0
    daemon.clock.advance(9)
    assert open_status(front, block, token) == 0
    daemon.clock.advance(2)
    assert open_status(front, block, token) == -errno.EPERM
    assert front.keys(POOL, STORAGE, [Key(5), KEY]) == 0, "as HDFS rotates its keys"
    assert front.read(response.handle, 0, 100) == image.contents[block.id][:100]
    assert front.stat(response.handle).status == 0
    front.close_handle(response.handle)


def is_to_be_opened_again(front, handle):
    read = front.read_response(handle, 0, 100).status
    assert front.stat(handle).status == min(read, 0)
    return read == -errno.EAGAIN


def test_a_restart_with_other_keys(front, image, block):
    """NameNode and DataNodes were restarted: an id may come back, with another key.  What is open
    is judged again, by a new OPEN."""
    token = make_token(KEY, POOL, block.id)
    handle = front.open(block.id, block.genstamp, POOL, [STORAGE], token).handle
    assert not is_to_be_opened_again(front, handle)
    other = Key(KEY.id, b"other---")
    for keys in ([other], [other, Key(2)], []):
        assert front.keys(POOL, STORAGE, keys) == 0
        assert is_to_be_opened_again(front, handle)
        assert open_status(front, block, token) == -errno.EPERM
    front.close_handle(handle)
    assert front.keys(POOL, STORAGE, [other]) == 0
    new = make_token(other, POOL, block.id)
    handle = front.open(block.id, block.genstamp, POOL, [STORAGE], new).handle
    assert front.read(handle, 0, 100) == image.contents[block.id][:100]
    front.close_handle(handle)


def test_what_is_open_when_they_are_switched_on(start_daemon, block):
    daemon = start_daemon(local=PUBLISHER)
    with daemon.front() as front:
        handle = front.open(block.id, block.genstamp, POOL, [STORAGE]).handle
        assert front.keys(POOL, STORAGE, [], tokens=0) == 0
        assert not is_to_be_opened_again(front, handle)
        assert front.keys(POOL, STORAGE, [KEY]) == 0
        assert is_to_be_opened_again(front, handle)


# ---- when they are required ---------------------------------------------------------------


def test_as_soon_as_the_datanode_says_so(start_daemon, block):
    daemon = start_daemon(local=PUBLISHER)
    token = make_token(KEY, POOL, block.id)
    with daemon.front() as front:
        assert open_status(front, block) == 0
        assert front.keys(POOL, STORAGE, [KEY]) == 0
        assert open_status(front, block) == -errno.EPERM
        assert open_status(front, block, token) == 0
        assert front.keys(POOL, STORAGE, [Key(2)]) == 0, "which replace those of before"
        assert open_status(front, block, token) == -errno.EPERM
        assert front.keys(POOL, STORAGE, []) == 0
        assert open_status(front, block) == -errno.EPERM
        assert open_status(front, block, token) == -errno.EPERM, "there is no key"


def test_off_until_the_datanode_says_otherwise(start_daemon, block):
    daemon = start_daemon(local=PUBLISHER)
    with daemon.front() as front:
        assert front.keys(POOL, STORAGE, [], tokens=0) == 0
        assert open_status(front, block) == 0
        assert tokens_of(daemon)["required"] is False
        assert front.keys("BP-other", STORAGE, [KEY]) == 0
        assert open_status(front, block) == -errno.EPERM, "HDFS has tokens in all pools or in none"


def test_a_datanode_cannot_switch_them_off(start_daemon, block):
    """Whoever may publish for a datanode must not be able to open its blocks to everybody."""
    daemon = start_daemon(local=PUBLISHER)
    token = make_token(KEY, POOL, block.id)
    with daemon.front() as front:
        assert front.keys(POOL, STORAGE, [KEY]) == 0
        for pool in (POOL, "BP-other"):
            assert front.keys(pool, STORAGE, [], tokens=0) == -errno.EPERM
        assert open_status(front, block) == -errno.EPERM
        assert open_status(front, block, token) == 0, "the keys are as before"
        assert tokens_of(daemon)["says-off"] is True
        assert front.keys(POOL, STORAGE, [KEY]) == 0
        assert "says-off" not in tokens_of(daemon)
        assert front.keys(POOL, STORAGE, [], tokens=0) == -errno.EPERM
        assert daemon.log().count("say tokens = off in vread.conf") == 1


def test_required(start_daemon, block):
    daemon = start_daemon(local=PUBLISHER, extra="tokens = required\n")
    token = make_token(KEY, POOL, block.id)
    with daemon.front() as front:
        assert open_status(front, block, token) == -errno.EPERM, "nothing is known to judge it by"
        assert front.keys(POOL, STORAGE, [], tokens=0) == 0
        assert open_status(front, block) == -errno.EPERM, "whatever the datanode says"
        assert front.keys(POOL, STORAGE, [KEY]) == 0
        assert open_status(front, block, token) == 0
        assert tokens_of(daemon)["mode"] == "required"


def test_off(start_daemon, block):
    daemon = start_daemon(local=PUBLISHER, extra="tokens = off\n")
    with daemon.front() as front:
        assert front.keys(POOL, STORAGE, [KEY]) == 0
        assert open_status(front, block) == 0
        assert open_status(front, block, b"junk") == 0
        assert tokens_of(daemon)["mode"] == "off"


def test_keys_are_for_that_datanode_alone(start_daemon, tmp_path, image, block):
    """A token of dn2 does not open replicas of dn1, though pool and block are the same."""
    publisher = "publish-datanodes = dn1 dn2\n"
    daemon = start_daemon(local=publisher, extra=second_datanode(tmp_path, image))
    other = Key(KEY.id, b"of-dn2--")
    with daemon.front() as front:
        assert front.keys(POOL, STORAGE, [KEY]) == 0
        assert front.keys(POOL, "DS-2", [other]) == 0
        assert open_status(front, block, make_token(other, POOL, block.id)) == -errno.EPERM
        assert open_status(front, block, make_token(KEY, POOL, block.id)) == 0
        assert tokens_of(daemon, "dn2")["pools"][0]["keys"] == 1


# ---- what is remembered ---------------------------------------------------------------------


def start_again(start_daemon, daemon, **arguments):
    assert daemon.stop() == 0
    return start_daemon(folder=daemon.folder, local=PUBLISHER, **arguments)


@pytest.fixture
def remembering(start_daemon):
    """A vreadd that was told a datanode's keys."""
    daemon = start_daemon(local=PUBLISHER)
    with daemon.front() as front:
        assert front.keys(POOL, STORAGE, [KEY]) == 0
    return daemon


def test_a_start_without_publisher(start_daemon, remembering, block):
    """vreadd forgets the keys when it ends, but not that there were some."""
    token = make_token(KEY, POOL, block.id)
    daemon = start_again(start_daemon, remembering)
    with daemon.front() as front:
        assert tokens_of(daemon)["pools"] == []
        assert tokens_of(daemon)["required"] is True
        assert open_status(front, block) == -errno.EPERM
        assert open_status(front, block, token) == -errno.EPERM, "there is no key yet"
        assert front.keys(POOL, STORAGE, [], tokens=0) == -errno.EPERM
        assert front.keys(POOL, STORAGE, [KEY]) == 0
        assert open_status(front, block, token) == 0


def test_a_kill_after_the_first_keys(start_daemon, remembering, block):
    remembering.kill()
    daemon = start_daemon(folder=remembering.folder, local=PUBLISHER)
    with daemon.front() as front:
        assert open_status(front, block) == -errno.EPERM


def test_expired_keys(daemon, front, block):
    key = Key(2, expiry=daemon.clock.ms + 10_000)
    token = make_token(key, POOL, block.id)
    assert front.keys(POOL, STORAGE, [key]) == 0
    assert open_status(front, block, token) == 0
    daemon.clock.advance(11)
    assert open_status(front, block, token) == -errno.EPERM
    assert open_status(front, block) == -errno.EPERM
    (pool,) = [p for p in tokens_of(daemon)["pools"] if p["pool"] == POOL]
    assert "until" not in pool


def test_the_memory_has_no_key(start_daemon):
    daemon = start_daemon(local=PUBLISHER)
    with daemon.front() as front:
        assert front.keys(POOL, STORAGE, [Key(1, SECRET)]) == 0
    (path,) = daemon.token_files.iterdir()
    assert path.name == "dn1.json"
    found = json.loads(path.read_text())
    assert found == {"datanode": "dn1", "tokens": "on", "since": tokens_of(daemon)["since"]}


DAMAGES = {"empty": b"", "cut": b"{", "zeroes": b"\0" * 80, "off": b'{"tokens": "off"}'}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file(start_daemon, remembering, block, damage):
    (path,) = remembering.token_files.iterdir()
    path.write_bytes(damage)
    daemon = start_again(start_daemon, remembering)
    problem = f"{path}: damaged: expected a file of vreadd that says that datanode dn1 uses block"
    assert problem in daemon.log()
    with daemon.front() as front:
        assert open_status(front, block) == -errno.EPERM
        assert problem in tokens_of(daemon)["problem"]
        assert front.keys(POOL, STORAGE, [KEY]) == 0
        assert "problem" not in tokens_of(daemon), "the file was written anew"


def test_a_damaged_file_is_of_one_datanode(start_daemon, tmp_path, image, edit, block):
    """dn2 shows the same block on a storage of its own, and was never known to use tokens."""
    folder = tmp_path / "vreadd"
    (folder / "tokens").mkdir(parents=True)
    (folder / "tokens" / "dn1.json").write_bytes(b"")
    daemon = start_daemon(folder=folder, extra=second_datanode(tmp_path, image))
    edit(daemon, "allow-datanodes = dn1", "allow-datanodes = dn1 dn2")
    reload(daemon)
    with daemon.front() as front:
        assert open_status(front, block) == -errno.EPERM
        assert open_status(front, block, storages=["DS-2"]) == 0


def test_off_by_the_operator(start_daemon, remembering, edit, block):
    """`tokens = off` counts at once, and what was remembered is forgotten."""
    daemon = start_again(start_daemon, remembering)
    with daemon.front() as front:
        assert open_status(front, block) == -errno.EPERM
        edit(daemon, "[datanode dn1]", "[datanode dn1]\ntokens = off")
        changed(daemon, "[datanode dn1]: tokens changed")
        assert open_status(front, block) == 0
        assert list(daemon.token_files.iterdir()) == []
        edit(daemon, "tokens = off\n", "")
        changed(daemon, "[datanode dn1]: tokens changed")
        assert open_status(front, block) == 0
        assert front.keys(POOL, STORAGE, [KEY]) == 0
        assert open_status(front, block) == -errno.EPERM
    daemon = start_again(start_daemon, daemon, extra="tokens = off\n")
    with daemon.front() as front:
        assert open_status(front, block) == 0
        assert list(daemon.token_files.iterdir()) == []


def test_auto_again_while_the_datanode_says_on(start_daemon, remembering, edit, block):
    with remembering.front() as front:
        for mode, status in (("off", 0), ("auto", -errno.EPERM)):
            edit(remembering, "[datanode dn1]", f"[datanode dn1]\ntokens = {mode}")
            changed(remembering, "[datanode dn1]: tokens changed")
            assert open_status(front, block) == status
            edit(remembering, f"tokens = {mode}\n", "")
    daemon = start_again(start_daemon, remembering)
    with daemon.front() as front:
        assert open_status(front, block) == -errno.EPERM


def test_a_datanode_that_comes_back(start_daemon, tmp_path, image, edit):
    """A section that is removed and added again, as when a domain is, has its memory."""
    section = second_datanode(tmp_path, image)
    daemon = start_daemon(local="publish-datanodes = dn2\n", extra=section)
    with daemon.front() as front:
        assert front.keys(POOL, "DS-2", [KEY]) == 0
        for old, new in ((section, ""), ("[datanode dn1]", f"{section}[datanode dn1]")):
            edit(daemon, old, new)
            reload(daemon)
        assert tokens_of(daemon, "dn2")["pools"] == []
        assert tokens_of(daemon, "dn2")["required"] is True


def test_a_check_changes_nothing(start_daemon, remembering):
    assert remembering.stop() == 0
    before = [path.read_bytes() for path in remembering.token_files.iterdir()]
    text = remembering.config.read_text()
    remembering.config.write_text(f"{text}tokens = off\n")
    command = [binary(), "--check-config", "-c", remembering.config]
    assert subprocess.run(command, capture_output=True).returncode == 0
    assert [path.read_bytes() for path in remembering.token_files.iterdir()] == before != []


def test_no_folder(start_daemon, tmp_path, block):
    """If the memory cannot be written, tokens are required all the same, and the operator hears of
    it."""
    (tmp_path / "tokens").touch()
    daemon = start_daemon(folder=tmp_path, local=PUBLISHER)
    with daemon.front() as front:
        assert open_status(front, block) == -errno.EPERM
        assert front.keys(POOL, STORAGE, [KEY]) == 0
        assert open_status(front, block, make_token(KEY, POOL, block.id)) == 0
        problem = f"{daemon.token_files}/dn1.json: cannot write: Not a directory"
        assert tokens_of(daemon)["problem"] == problem
        assert problem in daemon.log()


def test_status_and_log_have_no_key(start_daemon, block):
    daemon = start_daemon(local=PUBLISHER)
    keys = [Key(1, SECRET), Key(2, SECRET, expiry=soon(2 * DAY))]
    with daemon.front() as front:
        assert front.keys(POOL, STORAGE, keys) == 0
        assert open_status(front, block) == -errno.EPERM
        assert open_status(front, block, make_token(keys[0], POOL, block.id)) == 0
        (pool,) = tokens_of(daemon)["pools"]
        newest = keys[1].expiry
        expected = {"required": True, "keys": 2, "expiry": newest, "until": newest}
        assert pool == {"pool": POOL} | expected
        assert tokens_of(daemon)["valid"] == 1
        assert tokens_of(daemon)["refused"] == {"missing": 1}
        (device,) = daemon.status()["devices"]
        assert device["counters"]["errors"] == {"EPERM": 1}
    everything = daemon.ask(b'{"command": "status"}\n') + daemon.log_path.read_bytes()
    for form in (SECRET, SECRET.hex().encode()):
        assert form not in everything


# ---- who may give keys, and how -------------------------------------------------------------


def test_a_client_may_not(start_daemon, block):
    daemon = start_daemon()
    with daemon.front() as front:
        assert front.keys(POOL, STORAGE, [KEY]) == -errno.EOPNOTSUPP
        assert open_status(front, block) == 0


def test_the_storage_of_another_datanode(start_daemon, tmp_path, image):
    daemon = start_daemon(local=PUBLISHER, extra=second_datanode(tmp_path, image))
    with daemon.front() as front:
        assert front.keys(POOL, "DS-2", [KEY]) == -errno.EACCES
        assert front.keys(POOL, "DS-3", [KEY]) == -errno.ENODEV
        assert tokens_of(daemon, "dn2")["pools"] == []


def test_pools_are_bounded(start_daemon):
    daemon = start_daemon(local=PUBLISHER)
    with daemon.front() as front:
        for n in range(100, 200):
            assert front.keys(f"BP-{n}", STORAGE, [], tokens=0) == 0, "not one of them is kept"
        for n in range(16):
            assert front.keys(f"BP-{n}", STORAGE, [KEY]) == 0
        assert front.keys("BP-more", STORAGE, [KEY]) == -errno.EMFILE
        assert front.keys("BP-3", STORAGE, []) == 0


def bad_data():
    key = KEY.packed()
    yield "two storages", open_data(POOL, [STORAGE, "DS-2"], key)
    yield "no storage", open_data(POOL, [], key)
    yield "a flag of OPEN", open_data(POOL, [STORAGE], key, flags=1)
    yield "a key cut short", open_data(POOL, [STORAGE], key[:-1])
    yield "a key and a byte", open_data(POOL, [STORAGE], key + b"\0")
    yield "one id twice", open_data(POOL, [STORAGE], key + key)
    yield "65 keys", open_data(POOL, [STORAGE], b"".join(Key(n).packed() for n in range(65)))
    yield "an empty key", open_data(POOL, [STORAGE], Key(1, b"").packed())
    yield "a key of 65 bytes", open_data(POOL, [STORAGE], Key(1, bytes(65)).packed())
    yield "algorithm 0", open_data(POOL, [STORAGE], Key(1, algorithm=0).packed())
    yield "algorithm 5", open_data(POOL, [STORAGE], Key(1, algorithm=5).packed())
    yield "a pool with a slash", open_data("BP/1", [STORAGE], key)
    yield "zeroes", bytes(64)


@pytest.mark.parametrize("data", [pytest.param(d, id=name) for name, d in bad_data()])
def test_bad_data(front, block, data):
    assert front.keys_raw(data) == -errno.EINVAL
    assert open_status(front, block, make_token(KEY, POOL, block.id)) == 0


GOOD = open_data(POOL, [STORAGE], KEY.packed())


@pytest.mark.parametrize(
    "part,fields",
    [
        pytest.param((len(GOOD), 2), {}, id="tokens 2"),
        pytest.param((len(GOOD), 0), {}, id="keys where tokens are off"),
        pytest.param((0, 1), {}, id="length 0"),
        pytest.param((7, 1), {}, id="length 7"),
        pytest.param((PAGE + 1, 1), {}, id="length beyond its pages"),
        pytest.param((16385, 1), {"pool_pages": 5}, id="length 16385"),
        pytest.param((2**32 - 1, 1), {}, id="length 4 GiB - 1"),
        pytest.param((len(GOOD), 1), {"handle": 1}, id="a handle"),
        pytest.param((len(GOOD), 1), {"pool_pages": 0}, id="no pages"),
        pytest.param((len(GOOD), 1), {"pool_page": 64}, id="a page behind the pool"),
    ],
)
def test_malformed_requests(front, block, part, fields):
    front.pool[: len(GOOD)] = GOOD
    fields = {"pool_pages": 1, "part": keys_part(*part)} | fields
    assert front.call(KEYS, **fields).status == -errno.EINVAL
    assert open_status(front, block) == -errno.EPERM


# ---- on another host --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """A datanode's image on host b, and a block in it."""
    folder = tmp_path_factory.mktemp("there")
    directory = DataDirectory(folder / "data", storage="DS-there")
    block = directory.add(1073745921, 300_000)
    image = make_datanode_image([directory.path], folder / "disk.img", free_mib=24)
    write_layout(image, folder / "layout.json")
    return (image.path, folder / "layout.json"), block


@contextlib.contextmanager
def two_hosts(tmp_path, there):
    authority, address = Authority(tmp_path), free_address()
    answers = authority.host("b", listen=address) + peer("a", allow_datanodes="dn-there")
    asks = authority.host("a", answer_timeout=60000)
    asks += peer("b", address=address, storages="dn-there/DS-there")
    with (
        Vreadd({"dn-there": there[0]}, "asan", ("dn-there",), sections=answers) as b,
        Vreadd({}, "asan", sections=asks) as a,
        LocalFront(b.endpoint) as datanode,
        LocalFront(a.endpoint, pool_pages=128) as client,
    ):
        yield client, datanode, b


def test_a_token_is_checked_where_the_data_is(tmp_path, there):
    _, block = there
    storages = ("DS-there",)
    with two_hosts(tmp_path, there) as (client, datanode, b):
        assert open_status(client, block, storages=storages) == 0
        assert datanode.keys(POOL, "DS-there", [KEY]) == 0
        for reason, token in bad_tokens(block.id):
            assert open_status(client, block, token, storages) == -errno.EPERM, reason
        for encoding in (writable, protobuf):
            many = [f"DS-{n}" for n in range(700)]
            token = make_token(KEY, POOL, block.id, encoding, storages=many)
            response = client.open(block.id, block.genstamp, POOL, storages, token)
            assert response.status == 0
            assert client.read(response.handle, 0, 300_000) == block.content()
            client.close_handle(response.handle)
        handle = client.open(block.id, block.genstamp, POOL, storages, token).handle
        assert datanode.keys(POOL, "DS-there", [Key(5), KEY]) == 0
        assert not is_to_be_opened_again(client, handle)
        assert datanode.keys(POOL, "DS-there", [Key(5)]) == 0
        assert is_to_be_opened_again(client, handle)
        assert open_status(client, block, token, storages) == -errno.EPERM
        (datanode_status,) = b.status()["datanodes"]
        assert datanode_status["tokens"]["valid"] == 3
        assert datanode_status["tokens"]["refused"]["expired"] == len(ENCODINGS)


# ---- rules that are weaker elsewhere ---------------------------------------------------------


@pytest.fixture
def replica(tmp_path, image):
    """replica(storage): (image, layout) of a datanode with the blocks of `image`."""

    def make(storage):
        layout = tmp_path / f"{storage}.json"
        layout.write_text(image.layout.read_text().replace(STORAGE, storage))
        return image.path, layout

    return make


@contextlib.contextmanager
def asking(authority, hosts, datanodes):
    """Hosts b, c ...: {name: datanodes}.  Yields {name: Vreadd} of these and of a, which serves
    `datanodes` and may ask all of them."""
    addresses = {name: free_address() for name in hosts}
    asks = authority.host("a", answer_timeout=60000)
    running = {}
    with contextlib.ExitStack() as stack:
        for name, served in hosts.items():
            sections = authority.host(name, listen=addresses[name])
            sections += peer("a", allow_datanodes=" ".join(served))
            daemon = Vreadd(served, "asan", tuple(served), sections=sections)
            running[name] = stack.enter_context(daemon)
            storages = " ".join(f"{dn}/DS-{dn}" for dn in served)
            asks += peer(name, address=addresses[name], storages=storages)
        daemon = Vreadd(datanodes, "asan", tuple(datanodes), sections=asks)
        running["a"] = stack.enter_context(daemon)
        yield running


def test_what_is_refused_here_is_not_asked_elsewhere(tmp_path, replica, block):
    """Host b has the block, too, and requires no tokens.  It would overrule this host."""
    both = ("DS-dn1", "DS-dn2")
    token = make_token(KEY, POOL, block.id)
    hosts = {"b": {"dn2": replica("DS-dn2")}}
    with (
        asking(Authority(tmp_path), hosts, {"dn1": replica("DS-dn1")}) as running,
        LocalFront(running["a"].endpoint) as front,
    ):
        assert open_status(front, block, storages=("DS-dn2",)) == 0, "b has it"
        assert open_status(front, block, storages=both) == 0
        assert front.keys(POOL, "DS-dn1", [KEY]) == 0
        for storages in (both, both[::-1]):
            assert open_status(front, block, storages=storages) == -errno.EPERM
            assert open_status(front, block, b"junk", storages) == -errno.EPERM
            assert open_status(front, block, token, storages) == 0
        assert open_status(front, block, storages=("DS-dn2",)) == 0, "which b decides alone"


def test_what_a_peer_refuses_is_not_asked_at_the_next(tmp_path, replica, block):
    hosts = {"b": {"dn2": replica("DS-dn2")}, "c": {"dn3": replica("DS-dn3")}}
    token = make_token(KEY, POOL, block.id)
    both = ("DS-dn2", "DS-dn3")
    with (
        asking(Authority(tmp_path), hosts, {}) as running,
        LocalFront(running["b"].endpoint) as datanode,
        LocalFront(running["a"].endpoint) as front,
    ):
        assert datanode.keys(POOL, "DS-dn2", [KEY]) == 0
        for storage in both:
            open_status(front, block, storages=(storage,))  # connects: a link that is down is last
        assert open_status(front, block, storages=both) == -errno.EPERM
        assert open_status(front, block, token, both) == 0
        assert datanode.keys(POOL, "DS-dn2", []) == 0
        assert open_status(front, block, token, both) == -errno.EPERM
        assert open_status(front, block, storages=("DS-dn3",)) == 0
