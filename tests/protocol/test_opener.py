# SPDX-License-Identifier: GPL-2.0-or-later
"""vread-opener, asked directly, as a vreadd that was taken over may ask.  It opens the images that
the configuration names, their backing files, and nothing else, and it lives on."""

import contextlib
import errno
import fcntl
import os
import socket
import stat
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from tests.cli.xenstored import Xenstored
from tests.support.opener import CHANNELS, IMAGE, NAMED, STAT, Opener, Refused
from tests.support.owner import needs_root
from tests.support.waiting import eventually

pytestmark = needs_root
SECRET = "/etc/shadow"
PATH_MAX = 4096
SENDMSG = 46  # system call, on x86-64


@pytest.fixture
def config(tmp_path):
    """Names images in several folders, and things that are no image."""
    path = tmp_path / "vread.conf"
    for folder in ("img", "bases", "own", "other"):
        (tmp_path / folder).mkdir()
    for name in ("img/dn1.img", "img/near.raw", "bases/base.raw", "other/dn2.img", "own/dn3.img"):
        (tmp_path / name).write_bytes(name.encode())
        (tmp_path / name).chmod(0o600)
    os.mkfifo(tmp_path / "fifo")
    os.mknod(tmp_path / "null", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    path.write_text(
        f"[vreadd]\ndatanode-files = {tmp_path}/own\n"
        f"# image = {SECRET}\n"
        f"[local]\nimage = {SECRET}\n"
        f"[datanode dn1]\n  image = raw:{tmp_path}/img/dn1.img ; the first\n"
        f"#image = {SECRET}\n;image = {SECRET}\nlayout = {SECRET}\ndata-dirs = /dfs\n"
        f"backing-folders = {tmp_path}/bases / {tmp_path}/../etc\n"
        + "".join(f"image={tmp_path}/{name}\n" for name in ("fifo", "null", "bases", "gone"))
        + f"[datanode dn2]\nimage : {tmp_path}/other/dn2.img\ndata-dirs = /dfs\n"
    )
    (tmp_path / "own/dn3.conf").write_text(
        f"[datanode dn3]\nimage = {tmp_path}/own/dn3.img\ndata-dirs = /dfs\n"
    )
    (tmp_path / "own/dn4.conf.new").write_text(f"[datanode dn4]\nimage = {SECRET}\n")
    return path


@pytest.fixture(params=["release", "asan"])
def opener(config, request):
    """The filter of system calls is complete in the variant release only."""
    with Opener(config, variant=request.param) as opener:
        yield opener
        assert opener.alive()


def content(fd):
    with os.fdopen(fd, "rb") as file:
        return file.read().decode()


def refusal(call, *arguments, **others):
    with pytest.raises(Refused) as caught:
        call(*arguments, **others)
    assert caught.value.strerror
    return errno.errorcode[caught.value.errno]


@pytest.mark.parametrize("name", ["img/dn1.img", "other/dn2.img", "own/dn3.img"])
def test_an_image_that_the_configuration_names(opener, config, name):
    fd = opener.image(config.parent / name)
    flags = int(Path(f"/proc/self/fdinfo/{fd}").read_text().split("flags:")[1].split()[0], 8)
    assert flags & os.O_ACCMODE == os.O_RDONLY
    assert content(fd) == name


@pytest.mark.parametrize(
    ("path", "error"),
    [
        (SECRET, "EACCES"),
        ("{folder}/img/near.raw", "EACCES"),
        ("{folder}/img/./dn1.img", "EACCES"),
        ("/", "EACCES"),
        ("/dev/mem", "EACCES"),
        ("/proc/self/mem", "EACCES"),
        ("{folder}/own/dn4.conf.new", "EACCES"),
        ("{folder}/fifo", "EINVAL"),
        ("{folder}/null", "EINVAL"),
        ("{folder}/bases", "EISDIR"),
        ("{folder}/gone", "ENOENT"),
    ],
)
def test_what_is_no_image(opener, config, path, error):
    assert refusal(opener.image, path.format(folder=config.parent)) == error
    assert content(opener.image(config.parent / "img/dn1.img")) == "img/dn1.img"


KEYS = "/local/domain/0/backend/vread/7/0/datanode"


@pytest.fixture
def store(tmp_path):
    """Keys name a disk of domain 7 that vread.conf does not name; domain 8 has another disk."""
    (tmp_path / "key").mkdir()
    disks = {(7, 51728): "xvdb", (7, 51744): "xvdc", (8, 51728): "xvdb"}
    with Xenstored(tmp_path / "xenstored") as store:
        for domid in (7, 8):
            store.put(f"/local/domain/{domid}", "")
        for (domid, number), name in disks.items():
            image = tmp_path / f"key/{domid}-{name}.img"
            image.write_bytes(image.name.encode())
            image.chmod(0o600)
            directory = f"/local/domain/0/backend/vbd/{domid}/{number}"
            store.put(f"{directory}/dev", name)
            store.put(f"{directory}/params", str(image))
        for number in range(200):  # more than glibc sorts without memory of its own
            store.put(f"/local/domain/0/backend/vbd/7/{number}", "")
        store.put(f"{KEYS}/data-dirs", "/dfs")
        store.put(f"{KEYS}/disks", "xvdb")
        store.put(f"{KEYS}/backing-folders", f"{tmp_path}/bases")
        store.put(f"{KEYS}/name", "dn5")
        yield store


@pytest.fixture(params=["release", "asan"])
def by_keys(request, config, store):
    """by_keys(): an opener that finds this xenstore."""
    with contextlib.ExitStack() as openers:

        def start():
            environment = {"XENSTORED_PATH": store.path}
            return openers.enter_context(
                Opener(config, variant=request.param, environment=environment)
            )

        yield start


def test_an_image_that_keys_name(by_keys, config, store):
    """The disk that the keys name, of their own domain; its backing files; and nothing else."""
    opener, folder = by_keys(), config.parent
    image = folder / "key/7-xvdb.img"
    for other in ("key/7-xvdc.img", "key/8-xvdb.img", "bases/base.raw"):
        assert refusal(opener.image, folder / other) == "EACCES"
    assert content(opener.image(image)) == "7-xvdb.img"
    assert content(opener.named(folder / "bases/base.raw", image)) == "bases/base.raw"
    assert content(opener.named(folder / "key/7-xvdc.img", image)) == "7-xvdc.img"  # its folder
    assert refusal(opener.named, folder / "other/dn2.img", image) == "EACCES"
    assert refusal(opener.image, SECRET) == "EACCES"
    store.remove(KEYS)
    assert content(opener.image(image)) == "7-xvdb.img"
    assert content(opener.image(folder / "img/dn1.img")) == "img/dn1.img"
    assert opener.alive()


def test_keys_that_come_later(by_keys, config, store):
    store.remove(f"{KEYS}/name")
    opener, image = by_keys(), config.parent / "key/7-xvdb.img"
    assert refusal(opener.image, image) == "EACCES"
    store.put(f"{KEYS}/name", "dn5")
    assert content(opener.image(image)) == "7-xvdb.img"


@pytest.mark.parametrize("section", ["[xen]\ndatanode-keys = no\n", "[xen]\nenabled = no\n"])
def test_keys_are_turned_off(by_keys, config, section):
    config.write_text(config.read_text() + section)
    assert refusal(by_keys().image, config.parent / "key/7-xvdb.img") == "EACCES"


def test_keys_that_a_domain_left(by_keys, config, store):
    store.remove("/local/domain/7")
    assert refusal(by_keys().image, config.parent / "key/7-xvdb.img") == "EACCES"


@pytest.mark.parametrize("node", ["", "/disks", "/name"])
def test_keys_that_a_guest_may_write(by_keys, config, store, node):
    store.put(f"{KEYS}{node}", store.value(f"{KEYS}{node}"), ("n0", "w7"))
    assert refusal(by_keys().image, config.parent / "key/7-xvdb.img") == "EACCES"


def test_a_named_image_that_becomes_a_link(opener, config):
    """The operator's name counts, as for a name below /dev; a link of procfs does not."""
    image = config.parent / "img/dn1.img"
    image.unlink()
    image.symlink_to(config.parent / "other/dn2.img")
    assert content(opener.image(image)) == "other/dn2.img"
    image.unlink()
    image.symlink_to("/proc/self/exe")
    assert refusal(opener.image, image) == "ELOOP"


def test_backing_files(opener, config):
    folder = config.parent
    top = folder / "img/dn1.img"
    assert content(opener.named(folder / "img/near.raw", top)) == "img/near.raw"
    assert content(opener.named(folder / "bases/base.raw", top)) == "bases/base.raw"
    (folder / "img/link").symlink_to(SECRET)
    for path in (SECRET, folder / "img/link", folder / "img/../other/dn2.img"):
        assert refusal(opener.named, path, top) == "EACCES"
    # The folders of one datanode count for its images only.
    assert refusal(opener.named, folder / "bases/base.raw", folder / "other/dn2.img") == "EACCES"
    for top in ("", "/", "/etc/passwd", "etc", SECRET):
        assert refusal(opener.named, SECRET, top) == "EACCES"


def test_a_change_of_the_configuration_counts(opener, config):
    near = config.parent / "img/near.raw"
    assert refusal(opener.image, near) == "EACCES"
    text = config.read_text()
    config.write_text(text + f"[datanode dn5]\nimage = {near}\n")
    assert content(opener.image(near)) == "img/near.raw"
    # vreadd may still serve what was configured at its last reload.
    config.write_text("# defaults\n")
    assert content(opener.image(near)) == "img/near.raw"
    config.unlink()
    assert content(opener.image(config.parent / "img/dn1.img")) == "img/dn1.img"
    assert refusal(opener.image, SECRET) == "EACCES"


def test_what_a_file_is(opener, config):
    path = config.parent / "img/near.raw"
    known = path.stat()
    result, mode, dev, ino, rdev, text, fds = opener.ask(STAT, path)
    assert (mode, dev, ino, rdev) == (known.st_mode, known.st_dev, known.st_ino, 0)
    assert (result, text, fds) == (0, "", [])
    assert refusal(opener.ask, STAT, "/etc") == "EISDIR"
    assert refusal(opener.ask, STAT, config.parent / "fifo") == "EINVAL"
    assert refusal(opener.ask, STAT, config.parent / "none") == "ENOENT"


def message(kind, *texts):
    return struct.pack("I", kind) + b"".join(texts)


@pytest.mark.parametrize(
    "bytes_",
    [
        b"\0",
        b"\1\0\0",
        message(IMAGE),
        message(IMAGE, b"\0\0\0"),
        message(IMAGE, b"relative\0\0\0"),
        message(IMAGE, b"../../etc/shadow\0\0\0"),
        message(STAT, b".\0\0\0"),
        message(IMAGE, b"/no-end"),
        message(IMAGE, b"/two\0\0"),
        message(IMAGE, b"/four\0\0\0\0"),
        message(IMAGE, b"/", b"a" * PATH_MAX, b"\0\0\0"),
        message(NAMED, b"/a\0/", b"b" * PATH_MAX, b"\0\0"),
        message(IMAGE, b"/", b"a" * 100_000, b"\0\0\0"),
        message(0, b"/a\0\0\0"),
        message(4, b"/a\0\0\0"),
        message(0xFFFFFFFF, b"/a\0\0\0"),
        b"\xff" * 12_000,
    ],
    ids=lambda text: f"{len(text)}-{text[:10].hex()}",
)
def test_malformed_requests(opener, config, bytes_):
    result, *_, text, fds = opener.raw(bytes_)
    assert (-result, fds) == (errno.EBADMSG, [])
    assert "malformed request" in text
    assert content(opener.image(config.parent / "img/dn1.img")) == "img/dn1.img"


def test_descriptors_that_come_along_are_dropped(opener, config):
    def held():
        return len(os.listdir(f"/proc/{opener.process.pid}/fd"))

    before = held()
    for _ in range(20):
        fds = [os.open("/dev/null", os.O_RDONLY) for _ in range(100)]
        request = message(IMAGE, os.fsencode(config.parent / "img/dn1.img"), b"\0\0\0")
        answer = opener.raw(request, fds=fds)
        for fd in [*fds, *answer[6]]:
            os.close(fd)
    eventually(lambda: held() == before)  # the opener closes a file after it has sent it


def test_one_channel_does_not_wait_for_another(opener, config):
    """An asker that takes no answers stops its own channel only."""
    request = message(IMAGE, os.fsencode(config.parent / "img/dn1.img"), b"\0\0\0")
    opener.channels[1].setblocking(False)

    def is_stuck():
        with contextlib.suppress(BlockingIOError):
            while True:
                opener.channels[1].send(request)
        tasks = Path(f"/proc/{opener.process.pid}/task").iterdir()
        return any((task / "syscall").read_text().startswith(f"{SENDMSG} ") for task in tasks)

    eventually(is_stuck)
    for channel in (0, *range(2, CHANNELS)):
        os.close(opener.ask(IMAGE, config.parent / "img/dn1.img", channel=channel)[6][0])


def untaken(sock):
    """Bytes that the other end has not received."""
    return struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4)))[0]


@pytest.mark.parametrize("variant", ["release", "asan"])
def test_too_many_descriptors_on_the_way(config, variant):
    """An answer whose descriptor cannot be sent is an error, and not the end of the opener.  The
    kernel counts the descriptors on the way of all processes of a user, so this opener is a user of
    its own."""
    user = str(1_000_000 + os.getpid())
    right = "+dac_read_search"
    ids = [f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    limit = ["prlimit", "--nofile=64:64"]
    wrapper = [*limit, "setpriv", *ids, f"--inh-caps={right}", f"--ambient-caps={right}"]
    request = message(IMAGE, os.fsencode(config.parent / "img/dn1.img"), b"\0\0\0")
    with Opener(config, variant, wrapper) as opener:
        for _ in range(100):
            opener.channels[1].send(request)
        eventually(lambda: untaken(opener.channels[1]) == 0)
        answers = [opener.receive(1) for _ in range(100)]
        for answer in answers:
            for fd in answer[6]:
                os.close(fd)
        assert {answer[0] for answer in answers} == {0, -errno.ETOOMANYREFS}
        assert content(opener.image(config.parent / "img/dn1.img")) == "img/dn1.img"


def test_its_rights(opener):
    text = Path(f"/proc/{opener.process.pid}/status").read_text()
    known = dict(line.split(":\t", 1) for line in text.splitlines())
    assert int(known["CapEff"], 16) == int(known["CapPrm"], 16) == 1 << 2  # dac_read_search
    assert int(known["CapInh"], 16) == int(known["CapAmb"], 16) == 0
    assert (known["NoNewPrivs"], known["Seccomp"]) == ("1", "2")
    assert int(known["Threads"]) == CHANNELS


def test_it_ends_with_its_asker(config):
    with Opener(config) as opener:
        opener.channels[2].shutdown(socket.SHUT_RDWR)
        assert opener.process.wait(60) == 0


def test_it_is_not_for_people(config):
    program = Path(__file__).resolve().parents[2] / "build/asan/vread-opener"
    done = subprocess.run([program, config], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "vread-opener is started by vreadd(8); do not start it by hand\n"
