# SPDX-License-Identifier: GPL-2.0-or-later
"""A libvirtd of our own, and guests of QEMU that it starts.

    with Libvirt() as libvirt, LibvirtGuest("g1", libvirt, xml="<shmem ...>") as guest:
        guest.run("modprobe vread-ivshmem")
        libvirt.virsh("detach-device", "g1", file)

It is Debian's libvirtd in session mode (qemu:///session).  Its sockets, state and logs are in a
temporary folder, so it is apart from a libvirtd of this machine.  Session mode is not for root, so
root runs it, and its QEMUs, as the user nobody.  The domains have the type 'qemu', whose processors
are emulated.

A QEMU of libvirt does not end with this program.  But a guest whose agent loses this program
panics, and libvirt destroys a domain that would reboot.  A libvirtd without domains and clients
ends by itself.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tools.patience import Patience

from .images import kernel_image
from .kvm import BOOT_TIMEOUT, KvmGuest
from .paths import LabError
from .qemu import CPU

URI = "qemu:///session"
NOBODY = 65534
START_TIMEOUT = 240.0
COMMAND_TIMEOUT = 300.0  # the first asks each QEMU of this machine about its abilities
IDLE = 600  # s
# Without them a virtlogd starts, and stays.
SETTINGS = 'stdio_handler = "file"\n'

DOMAIN = """
<domain type='qemu' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>{name}</name>
  <memory unit='MiB'>{memory}</memory>
  <vcpu>1</vcpu>
  <os>
    <type arch='x86_64' machine='q35'>hvm</type>
    <kernel>{kernel}</kernel>
    <initrd>{root}</initrd>
    <cmdline>{arguments}</cmdline>
  </os>
  <features><acpi/></features>
  <cpu mode='maximum'>{features}</cpu>
  <on_reboot>destroy</on_reboot>
  <devices>
    <controller type='usb' model='none'/>
    <controller type='pci' model='pcie-root'/>
    <controller type='pci' model='pcie-root-port' index='1'/>
    <controller type='pci' model='pcie-root-port' index='2'/>
    <controller type='pci' model='pcie-root-port' index='3'/>
    <memballoon model='none'/>
    <serial type='file'><source path='{console}' append='on'/></serial>
    <channel type='unix'>
      <source mode='connect' path='{agent}'/>
      <target type='virtio' name='lab'/>
    </channel>
    {devices}
  </devices>
  {more}
</domain>
"""


class Libvirt:
    def __init__(self) -> None:
        self._process: subprocess.Popen | None = None

    def __enter__(self) -> "Libvirt":
        self.folder = Path(tempfile.mkdtemp(prefix="libvirt-"))  # paths of sockets must be short
        self._environment = dict(os.environ, HOME=str(self.folder))
        for name in ("RUNTIME_DIR", "CONFIG_HOME", "CACHE_HOME", "DATA_HOME"):
            self._environment[f"XDG_{name}"] = str(self.folder / name)
        settings = self.folder / "CONFIG_HOME/libvirt/qemu.conf"
        settings.parent.mkdir(parents=True)
        settings.write_text(SETTINGS)
        self.give(self.folder)
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception) -> None:
        """No guest may run any more."""
        if self._process:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait()
        shutil.rmtree(self.folder)

    def virsh(self, *words: str | Path) -> str:
        """The output of virsh.  LabError has its error."""
        done = subprocess.run(
            [*_as_user(), "virsh", "-q", "-c", URI, *map(str, words)],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT,
            check=False,
        )
        if done.returncode:
            raise LabError(f"virsh {' '.join(map(str, words))}: {done.stderr.strip()}")
        return done.stdout.strip()

    def file(self, name: str, text: str) -> Path:
        """A file for virsh."""
        path = self.folder / name
        path.write_text(text)
        return path

    def log(self, domain: str) -> Path:
        """What the domain's QEMU says."""
        return self.folder / "CACHE_HOME/libvirt/qemu/log" / f"{domain}.log"

    def give(self, folder: Path) -> None:
        """Gives the folder to the user of libvirtd."""
        if os.geteuid() == 0:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY)

    def _start(self) -> None:
        with (self.folder / "libvirtd.log").open("wb") as log:
            self._process = subprocess.Popen(
                [*_as_user(), "libvirtd", "--timeout", str(IDLE)],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        patience = Patience(START_TIMEOUT)
        while not (self.folder / "RUNTIME_DIR/libvirt/libvirt-sock").is_socket():
            if self._process.poll() is not None or patience.is_over():
                log = (self.folder / "libvirtd.log").read_text()
                raise LabError(f"libvirtd did not come up:\n{log}")
            time.sleep(0.05)


def _as_user() -> list[str]:
    """What a command begins with to be of the user of libvirtd."""
    if os.geteuid():
        return []
    return f"setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups --".split()


class LibvirtGuest(KvmGuest):
    """A domain of a Libvirt.  Its monitor is libvirt's."""

    def __init__(
        self, name: str, libvirt: Libvirt, xml: str = "", more: str = "", **arguments
    ) -> None:
        """xml: of its devices; more: beside <devices>.  arguments: memory_mib and files of
        KvmGuest."""
        super().__init__(name, **arguments)
        self._libvirt, self._xml, self._more = libvirt, xml, more
        self._place = libvirt.folder / name  # of its files, which the user of libvirtd reads

    @property
    def console_log(self) -> Path:
        return self._place / "console.log"

    @property
    def alive(self) -> bool:
        with contextlib.suppress(LabError):
            return self._libvirt.virsh("domstate", self.name) == "running"
        return False

    def domain(self) -> str:
        """Its XML as it is now."""
        return self._libvirt.virsh("dumpxml", self.name)

    def save(self, path: Path) -> None:
        self._libvirt.virsh("save", self.name, path)
        self._saved = self._channel.numbered
        super()._end()

    def restore(self, path: Path) -> None:
        with self._listener() as listener:
            self._libvirt.virsh("restore", path)
            self._join(listener.accept()[0], self._saved)

    # ---- inside ----------------------------------------------------------

    def _launch(self, numbered: int = 0) -> None:
        self._place.mkdir()
        kernel = shutil.copy(kernel_image(), self._place / "kernel")
        root = shutil.copy(self._root(), self._place / "root.cpio")
        self.console_log.touch()
        self._libvirt.give(self._place)
        removed = [word[1:] for word in CPU.split(",")[1:]]
        xml = DOMAIN.format(
            name=self.name,
            memory=self._memory,
            kernel=kernel,
            root=root,
            arguments=self._kernel_arguments(),
            features="".join(f"<feature policy='disable' name='{name}'/>" for name in removed),
            console=self.console_log,
            agent=self._agent,
            devices=self._xml,
            more=self._more,
        )
        with self._listener() as listener:
            self._libvirt.virsh("define", self._libvirt.file(f"{self.name}.xml", xml))
            self._libvirt.virsh("start", self.name)
            self._join(listener.accept()[0], numbered)

    @contextlib.contextmanager
    def _listener(self) -> Iterator[socket.socket]:
        """QEMU connects the agent's port to this socket."""
        self._agent.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self._agent))
            self._agent.chmod(0o777)
            listener.listen()
            listener.settimeout(BOOT_TIMEOUT)
            yield listener

    @property
    def _agent(self) -> Path:
        return self._place / "agent"

    @property
    def _emulator_log(self) -> Path:
        return self._libvirt.log(self.name)

    def _end(self) -> None:
        for command in ("destroy", "undefine"):
            with contextlib.suppress(LabError):
                self._libvirt.virsh(command, self.name)
        super()._end()
