# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports about daemons and their clients in containers: sockets and files that are mounted there,
other PID and user namespaces, read-only roots, filters of system calls.

A container is a command in namespaces of its own, by unshare(1).  The rows are in README.md."""

import json
import os
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.cli.conftest import VREAD, XL_VREAD, clean_environment, vread_environment
from tests.support.daemon import STORAGE, Daemon, Image, binary, children, open_block
from tests.support.hdfs_dir import POOL

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")

READ_FOLDER = "/mnt"  # where a container has the folder of the socket


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    return Image(tmp_path_factory.mktemp("image"))


@pytest.fixture
def start(tmp_path, image):
    """start(folder=..., ...): a vreadd that must end in order."""
    daemons = []

    def run(folder=tmp_path, of=image, **arguments):
        daemons.append(Daemon(folder, of, **arguments))
        return daemons[-1]

    yield run
    for daemon in daemons:
        try:
            assert daemon.killed or daemon.stop() == 0, daemon.log()
        finally:
            daemon.kill()


def spec(block):
    return f"{POOL}/blk_{block.id}_{block.genstamp}@{STORAGE}"


class Container:
    """A shell in namespaces of its own that reads blocks whenever it is told to."""

    def __init__(self, source, target, *namespaces):
        script = (
            f"mount --bind {source} {target} || exit; "
            'while read -r socket block; do "$VREAD" cat --endpoint "$socket" "$block" '
            '>"$OUT" 2>"$OUT.err"; echo $?; done'
        )
        self.out = Path(tempfile.mkstemp()[1])
        self.process = subprocess.Popen(
            ["unshare", "--mount", *namespaces, "sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=vread_environment() | {"VREAD": str(VREAD), "OUT": str(self.out)},
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        assert self.process.wait(60) == 0
        self.process.stdout.close()
        for path in (self.out, Path(f"{self.out}.err")):
            path.unlink(missing_ok=True)

    def read(self, endpoint, block):
        self.process.stdin.write(f"{endpoint} {spec(block)}\n")
        self.process.stdin.flush()
        self.code = int(self.process.stdout.readline())
        return self.out.read_bytes()

    def error(self):
        return Path(f"{self.out}.err").read_text()


# ---- mounted sockets ----------------------------------------------------


def test_a_mounted_folder_outlives_vreadd(start, image, tmp_path):
    """The socket's file is a new one after each start, the folder is not."""
    folder = tmp_path / "run"
    folder.mkdir()
    block = image.blocks[1]
    daemon = start(folder=folder)
    with Container(folder, READ_FOLDER) as container:
        assert container.read(f"{READ_FOLDER}/local.sock", block) == block.content()
        assert daemon.stop() == 0
        assert container.read(f"{READ_FOLDER}/local.sock", block) == b""
        assert (container.code, "no such device or socket" in container.error()) == (3, True)
        start(folder=folder)
        assert container.read(f"{READ_FOLDER}/local.sock", block) == block.content()


def test_a_mounted_socket_of_a_vreadd_that_is_gone(start, image, tmp_path):
    """The container keeps the file of the old socket.  Its readers get a prompt error that says
    what to ask, and no wrong bytes."""
    target = tmp_path / "there"
    target.touch()
    block = image.blocks[1]
    daemon = start()
    with Container(daemon.socket, target) as container:
        assert container.read(target, block) == block.content()
        daemon.stop()
        start()
        assert container.read(target, block) == b""
        assert container.code == 3
        assert "no backend answers; is vreadd running?" in container.error()
        assert "a container needs the folder" in container.error()


# ---- other namespaces ----------------------------------------------------


def test_a_reader_of_another_pid_namespace(start, image):
    """The kernel says that such a program has pid 0."""
    block = image.blocks[1]
    daemon = start()
    namespaces = ["--pid", "--fork", "--kill-child"]
    with Container(daemon.folder, READ_FOLDER, *namespaces) as container:
        assert container.read(f"{READ_FOLDER}/local.sock", block) == block.content()
        assert container.read(f"{READ_FOLDER}/local.sock", image.blocks[2]) != b""


def test_a_reader_whose_user_is_not_mapped(start, image, tmp_path):
    """Its user is 65534 in its namespace, and itself for vreadd."""
    block = image.blocks[1]
    daemon = start(local="mode = 0666\n")
    words = ["cat", "--endpoint", daemon.socket, spec(block)]
    done = subprocess.run(
        ["unshare", "--user", VREAD, *words], capture_output=True, env=vread_environment()
    )
    assert (done.returncode, done.stdout) == (0, block.content()), done.stderr


def test_a_second_vreadd_in_another_pid_namespace(start):
    """The pid of the first means nothing there, so none is told."""
    daemon = start()
    done = subprocess.run(
        ["unshare", "--pid", "--fork", "--kill-child", binary(), "-c", daemon.config],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    said = f"{daemon.control}: a program outside this container already listens there"
    assert said in done.stderr


def test_a_group_without_a_name(tmp_path):
    """usermod cannot add a user to a group that the container does not know."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        os.chmod(folder, 0o755)
        node = f"{folder}/local.sock"
        listener.bind(node)
        os.chown(node, 0, 54321)
        os.chmod(node, 0o660)
        done = subprocess.run(
            [VREAD, "cat", "--endpoint", node, "BP-1/blk_1_1"],
            capture_output=True,
            text=True,
            user="nobody",
            group="nogroup",
            extra_groups=[],
        )
    assert "(mode 0660, group 54321)" in done.stderr
    assert "with --group-add 54321" in done.stderr
    assert "usermod -aG 54321" not in done.stderr


# ---- mounted files ----------------------------------------------------


def test_init_writes_a_configuration_that_is_a_mount_of_its_own(image, tmp_path):
    """rename() onto it is EBUSY; what is written is in the file that the host sees."""
    host, there = tmp_path / "vread.conf", tmp_path / "there.conf"
    host.write_text("# mine\n[ivshmem first]\nsocket = /f.sock\nallow-datanodes = dn0\n")
    there.touch()
    script = 'mount --bind "$0" "$1" && shift && exec "$@"'
    init = ["init", "--datanode", f"dn1={image.path},/dfs/data", "--client", "c1", "--yes"]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, host, there, XL_VREAD, *init],
        capture_output=True,
        text=True,
        env=clean_environment() | {"VREAD_CONFIG": str(there)},
    )
    assert done.returncode == 0, done.stderr
    text = host.read_text()
    assert text.startswith("# mine\n[ivshmem first]\n")
    assert "[datanode dn1]" in text and "[ivshmem c1]" in text
    assert sorted(path.name for path in tmp_path.glob("*.conf*")) == ["there.conf", "vread.conf"]


def test_an_image_that_only_the_operator_sees(start, tmp_path):
    """vreadd has a /tmp of its own.  The doctor sees the file, and must not say to put it there."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    disk = hidden / "dn.img"
    disk.write_bytes(bytes(1 << 20))
    wrapper = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        f'mount -t tmpfs tmpfs {hidden} && exec "$@"',
        "sh",
    ]
    directories = Directories(disk)
    daemon = start(of=directories, wrapper=wrapper)
    done = subprocess.run(
        [XL_VREAD, "doctor", "--json", "--config", daemon.config, "--socket", daemon.control],
        capture_output=True,
        env=clean_environment(),
    )
    found = {
        f["object"]: f for f in json.loads(done.stdout)["findings"] if f["check"] == "datanodes"
    }
    assert "No such file or directory" in found["dn1"]["found"]
    assert found["dn1"]["remedy"].startswith("the file is there, but vreadd does not see it: ")


class Directories:
    def __init__(self, path):
        self.path, self.data_dirs = path, ["/dfs/data"]


# ---- less than usual ----------------------------------------------------


def test_a_read_only_root(start, image, tmp_path):
    """Everything but the folder of the sockets is read-only, as with --read-only.  Nothing else is
    written, and blocks are read."""
    run = tmp_path / "run"
    run.mkdir()
    script = (
        "mount --make-rprivate / && mount --bind / / && mount --bind $1 $1 && "
        'mount -o remount,bind,ro / && shift && ! touch /written 2>/dev/null && exec "$@"'
    )
    wrapper = ["unshare", "--mount", "sh", "-c", script, "sh", run]
    daemon = start(folder=run, of=image, wrapper=wrapper)
    with daemon.front() as front:
        open_block(front, image.blocks[0])
    assert "Read-only" not in daemon.log()


# ---- rootless ---------------------------------------------------------------------------

# Enters a user namespace, in which the parent maps a range of users.
RANGE = """
(while [ "$(readlink /proc/$$/ns/user)" = "$(readlink /proc/self/ns/user)" ]; do :; done
 echo "0 0 65536" >/proc/$$/gid_map && echo "0 0 65536" >/proc/$$/uid_map) &
exec unshare --user sh -c 'until grep -q . /proc/self/uid_map; do :; done; exec "$@"' sh "$@"
"""


def test_a_rootless_container_with_a_range_of_users(start, image):
    """Its root is nobody outside.  The helpers become another user of the range."""
    daemon = start(wrapper=["sh", "-c", RANGE, "sh"])
    agent = children(daemon.process.pid)["vread-key-agent"]
    assert os.stat(f"/proc/{agent}").st_uid != 0
    with daemon.front() as front:
        open_block(front, image.blocks[0])


def test_a_rootless_container_with_one_user(tmp_path):
    """There is no other user to become.  vreadd does not run without its confinement, and says
    which call failed."""
    config = tmp_path / "vread.conf"
    config.write_text(f"[vreadd]\ncontrol-socket = {tmp_path}/c\nstorage-record =\n")
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", binary(), "-c", config],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "vread-key-agent: cannot drop root privileges" in done.stderr


def test_the_first_process_of_a_container(tmp_path, image):
    """Signals have no default effect on it, and its children's children become its own."""
    daemon = Daemon(tmp_path, image, wrapper=["unshare", "--pid", "--fork", "--kill-child"])
    try:
        (pid,) = children(daemon.process.pid).values()
        with daemon.front() as front:
            open_block(front, image.blocks[0])
        os.kill(pid, signal.SIGTERM)
        assert daemon.process.wait(60) == 0, daemon.log()
    finally:
        daemon.kill()
