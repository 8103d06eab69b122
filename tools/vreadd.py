# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a vreadd that serves images on its local port, for tests, benches and tools/hdfs.

    with Vreadd({"dn1": DataDirs(image, ["/dfs/data"])}, variant="asan") as daemon:
        subprocess.run(["build/asan/vread", "--endpoint", daemon.endpoint, ...])

A datanode is a DataDirs or a pair (image, layout).  Clients of the local port may read datanodes in
`allow` and publish blocks of those in `publish`.  `sections` is appended to the configuration.

The daemon's folder is temporary, because paths of UNIX sockets must be short.  end() or kill() and
then start() make a restart: the endpoint stays the same.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tools.patience import Patience

REPOSITORY = Path(__file__).resolve().parents[1]
# The machine may be busy, and a sanitizer needs time at the end of the daemon.
START_TIMEOUT = 120
STOP_TIMEOUT = 120


class VreaddError(RuntimeError):
    pass


def process_cpu_seconds(pid):
    """CPU time of a process so far, its ended threads included, to the nanosecond."""
    # The process-wide CPU clock of another process: clock_getcpuclockid(3).
    return time.clock_gettime(~pid << 3 | 2)


def stop_process(pid):
    """Sends SIGSTOP and waits until every thread has stopped: they do not stop at once."""
    os.kill(pid, signal.SIGSTOP)
    tasks = Path(f"/proc/{pid}/task")
    patience = Patience(STOP_TIMEOUT)
    while not all(_stopped(task) for task in tasks.iterdir()):
        if patience.is_over():
            raise VreaddError(f"process {pid}: runs on {STOP_TIMEOUT} s after SIGSTOP")
        time.sleep(0.002)


def _stopped(task):
    """True if the thread has stopped, or has ended meanwhile."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return ") T " in (task / "stat").read_text()
    return True


@dataclass(frozen=True)
class DataDirs:
    """A datanode's image (or several), and its data directories as paths inside their file systems.

    An image may have its format as a prefix, as in vread.conf: "qcow2:/srv/dn1.qcow2".
    """

    image: Path | str | tuple | list
    paths: tuple | list

    @property
    def images(self):
        several = isinstance(self.image, (tuple, list))
        return tuple(self.image) if several else (self.image,)


class Vreadd:
    def __init__(
        self,
        datanodes,
        variant="release",
        publish=(),
        allow=("*",),
        sections="",
        clock=None,
        xen="no",
    ):
        self.datanodes = datanodes  # name -> DataDirs or (image, layout)
        self.publish = publish
        self.allow = allow
        self.sections = sections
        self.xen = xen  # "yes": it needs a xenstored
        self.settings = ""  # lines of [vreadd]
        self.clock = clock  # of tests/support/clock.py; None: the kernel's
        self.binary = REPOSITORY / "build" / variant / "vreadd"
        self._process = None
        self._directory = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def endpoint(self):
        return str(self._directory / "vread.sock")

    @property
    def control_socket(self):
        return str(self._directory / "control.sock")

    @property
    def config_path(self):
        return self._directory / "vread.conf"

    @property
    def pid(self):
        return self._process.pid

    @property
    def running(self):
        return self._process is not None

    def prepare(self):
        """Makes the daemon's folder, so that the endpoint is known before the start."""
        if not self._directory:
            self._directory = Path(tempfile.mkdtemp(prefix="vreadd-"))
            self._directory.chmod(0o755)

    def start(self):
        """Returns when the local port takes connections."""
        self.prepare()
        self.write_config()
        try:
            with open(self._log, "ab") as log:
                self._process = subprocess.Popen(
                    [self.binary, "--config", self.config_path],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=os.environ | (self.clock.environment if self.clock else {}),
                )
            self._wait_for_socket()
        except BaseException:
            self.kill()
            self._remove()
            raise

    def write_config(self):
        """Writes the configuration again, for ask("reload")."""
        self.config_path.write_text(self._config())

    def end(self):
        """Sends SIGTERM and waits.  An exit status other than 0, as a sanitizer's, is an error."""
        if not self._process:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(STOP_TIMEOUT)
            if code != 0:
                raise VreaddError(f"vreadd ended with {code}:\n{self.log()}")
        except subprocess.TimeoutExpired as error:
            raise VreaddError(f"vreadd: no end {STOP_TIMEOUT} s after SIGTERM") from error
        finally:
            self.kill()

    def stop(self):
        """Does end() and removes the daemon's folder."""
        try:
            self.end()
        finally:
            self._remove()

    def kill(self):
        """Sends SIGKILL and waits."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def suspend(self):
        """Stops the daemon until resume(), as if it hung."""
        stop_process(self.pid)

    def resume(self):
        self._process.send_signal(signal.SIGCONT)

    def log(self):
        return self._log.read_text(errors="replace")[-4000:]

    def status(self):
        """The document of `xl-vread status --json`, with the time limit of ask()."""
        return self.ask("status")

    def ask(self, command, **request):
        """The control socket's answer.  A send or receive may take START_TIMEOUT."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(START_TIMEOUT)
            s.connect(self.control_socket)
            s.sendall(json.dumps({"command": command, **request}).encode() + b"\n")
            return json.loads(s.makefile().read())

    def cpu_seconds(self):
        return process_cpu_seconds(self.pid)

    @property
    def _log(self):
        return self._directory / "vreadd.log"

    def _config(self):
        text = f"[vreadd]\ncontrol-socket = {self.control_socket}\n"
        text += f"token-files = {self._directory / 'tokens'}\n{self.settings}"
        text += f"[xen]\nenabled = {self.xen}\n"
        text += f"[local]\nsocket = {self.endpoint}\nallow-datanodes = {' '.join(self.allow)}\n"
        if self.publish:
            text += f"publish-datanodes = {' '.join(self.publish)}\n"
        for name, datanode in self.datanodes.items():
            text += f"[datanode {name}]\n{_image_lines(datanode)}"
        return text + self.sections

    def _wait_for_socket(self):
        patience = Patience(START_TIMEOUT)
        while not self._listens() or not self._has_looked():
            if self._process.poll() is not None:
                code = self._process.returncode
                raise VreaddError(f"vreadd ended with {code} at its start:\n{self.log()}")
            if patience.is_over():
                raise VreaddError(f"vreadd: not up within {START_TIMEOUT} s:\n{self.log()}")
            time.sleep(0.02)

    def _listens(self):
        """True if the socket takes connections.  The socket file of a killed vreadd does not."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
            try:
                probe.connect(self.endpoint)
            except OSError:
                return False
        return True

    def _has_looked(self):
        """vreadd listens before it looks into images."""
        return not self.datanodes or "every datanode was looked into" in self.log()

    def _remove(self):
        if self._directory:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None


def _image_lines(datanode):
    if isinstance(datanode, DataDirs):
        paths = " ".join(datanode.paths)
        return f"{_images(datanode.images)}data-dirs = {paths}\n"
    image, layout = datanode
    images = image if isinstance(image, (tuple, list)) else (image,)
    return f"{_images(images)}layout = {Path(layout).resolve()}\n"


def _images(images):
    lines = ""
    for image in images:
        kind, colon, path = str(image).rpartition(":")
        lines += f"image = {kind}{colon}{Path(path).resolve()}\n"
    return lines
