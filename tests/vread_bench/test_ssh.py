# SPDX-License-Identifier: GPL-2.0-or-later
"""vread-bench runs against a target by ssh: an sshd of this test on loopback, with keys of its own.
The target is the stub of the measuring client."""

import socket
import subprocess
import threading
from pathlib import Path

import pytest

from tools.vread_bench.errors import BenchError
from tools.vread_bench.hosts import ssh

pytestmark = pytest.mark.thorough

CONFIG = """\
HostKey {folder}/host-key
AuthorizedKeysFile {folder}/key.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PidFile none
"""


class Sshd:
    """Listens itself, on a port that the kernel chooses, and starts an sshd for each connection."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("key", "host-key"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True
            )
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd wants it
        (folder / "sshd_config").write_text(CONFIG.format(folder=folder))
        self._processes = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        command = ["/usr/sbin/sshd", "-i", "-e", "-f", self.folder / "sshd_config"]
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # stop() was called
                return
            with connection, open(self.folder / "log", "ab") as log:
                self._processes.append(
                    subprocess.Popen(command, stdin=connection, stdout=connection, stderr=log)
                )

    def stop(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        for process in self._processes:
            process.terminate()
            process.wait()

    @property
    def options(self):
        return [f"UserKnownHostsFile={self.folder}/known", "StrictHostKeyChecking=accept-new"]

    def host(self):
        return ssh("me", "127.0.0.1", "root", self.port, f"{self.folder}/key", self.options)


@pytest.fixture(scope="module")
def sshd(tmp_path_factory):
    sshd = Sshd(tmp_path_factory.mktemp("sshd"))
    yield sshd
    sshd.stop()


def test_a_run_by_ssh(bench, make_bench, sshd):
    words = [f"by: ssh, host: 127.0.0.1, user: root, port: {sshd.port}"]
    words += [f"identity: {sshd.folder}/key, options: [{', '.join(sshd.options)}]"]
    bench.write_targets(host=f"{{{', '.join(words)}}}")
    bench.spec.write_text(bench.spec.read_text().replace("rounds: 3", "rounds: 1"))
    done = bench.run()
    assert done.returncode == 0, done.stderr
    accepted = (sshd.folder / "log").read_text().count("Accepted publickey for root")
    # A round is a client and two readings of its counter, at least.
    assert accepted >= 8 * 3
    here = make_bench("here")
    here.spec.write_text(bench.spec.read_text())
    assert here.run().returncode == 0
    for far, near in zip(bench.result()["raw"], here.result()["raw"], strict=True):
        assert far | {"began": 0} == near | {"began": 0}


def test_commands_and_files(sshd, tmp_path):
    host = sshd.host()
    assert host.run("echo $((1 + 1)); cat", stdin=b"x'y\n") == b"2\nx'y\n"
    path = tmp_path / "it's"
    host.put(b"\0\xff", str(path))
    assert path.read_bytes() == b"\0\xff"
    with pytest.raises(BenchError, match="me: `exit 7` ended with 7: "):
        host.run("exit 7")


def test_a_key_that_nobody_knows(sshd, tmp_path):
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "k"], check=True
    )
    stranger = ssh("me", "127.0.0.1", "root", sshd.port, str(tmp_path / "k"), sshd.options)
    with pytest.raises(BenchError, match="me: `true` ended with 255: .*Permission denied"):
        stranger.run("true")
