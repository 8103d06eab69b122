# SPDX-License-Identifier: GPL-2.0-or-later
"""A PV guest of an emulated host, made by XenHost.create_guest().

Its agent is reached through a vchan.  A bridge program runs in dom0, and the
protocol of agent/frame.h goes through this program's standard input and output.
So a guest needs no network, and its console is only for its kernel's messages.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tools.patience import Patience

from .channel import Channel, ChannelClosed, Command
from .images import kernel_image
from .kernels import Kernel
from .paths import LabError
from .rootfs import Tree, tree_of
from .roots import DOMU_KERNEL, DOMU_ROOT, domu_root
from .shell import Shell

if TYPE_CHECKING:
    from .host import XenHost

VCHAN = "data/lab"
GUEST_FILES = "guest-files.cpio"  # in the host's share: files every guest gets
# Ten times what each takes on a quiet machine with two cores.
CREATE_TIMEOUT = 150.0
DESTROY_TIMEOUT = 150.0
SAVE_TIMEOUT = 150.0
# A kernel reports something stuck after two minutes: on a busy machine it gets little CPU time.
KERNEL_PATIENCE = "watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=120"


class GuestStuck(LabError):
    """A guest that does not come up or answer; the message has its console."""


@dataclass(frozen=True)
class GuestKind:
    """kernel: None is dom0's."""

    memory_mib: int = 192
    kernel: Kernel | None = None
    vcpus: int = 1


@dataclass(frozen=True)
class GuestConfig:
    name: str
    memory_mib: int = 0
    disks: tuple[str, ...] = ()
    vifs: tuple[str, ...] = ()
    files: dict[str, Path] = field(default_factory=dict)
    extra: str = ""
    config: tuple[str, ...] = ()
    create: str = ""
    kernel: Kernel | None = None
    printed: str = ""
    vcpus: int = 1

    def text(self, kernel: str, ramdisk: str) -> str:
        if self.printed:
            return self.printed
        lines = [
            f'name="{self.name}"',
            'type="pv"',
            *self._places(kernel, ramdisk),
            f"vcpus={self.vcpus}",
            'on_crash="destroy"',
            'on_reboot="destroy"',
            'on_poweroff="destroy"',
            f"vif={[_vif(address) for address in self.vifs]}",
            *self.config,
        ]
        return "".join(f"{line}\n" for line in lines)

    def command(self, path: str, kernel: str, ramdisk: str) -> list[str]:
        """The command that creates the domain; the file at `path` has text()."""
        places = self._places(kernel, ramdisk) if self.printed else []
        return [*self.create.split(), path, *places]

    def _places(self, kernel: str, ramdisk: str) -> list[str]:
        """The settings that depend on this host: kernel, its arguments, ramdisk, memory, disks."""
        arguments = f"console=hvc0 loglevel=5 panic=1 {KERNEL_PATIENCE} lab.name={self.name}"
        if self.vifs:
            arguments += f" lab.ip={','.join(self.vifs)}"
        return [
            f'kernel="{kernel}"',
            f'ramdisk="{ramdisk}"',
            f'extra="{arguments} {self.extra}"',
            f"memory={self.memory_mib}",
            f"disk={list(self.disks)}",
        ]


def _vif(address: str) -> str:
    octets = [int(part) for part in address.split(".")]
    mac = "00:16:3e:" + ":".join(f"{octet:02x}" for octet in octets[1:])
    return f"bridge=xenbr0,mac={mac}"


class Guest(Shell):
    def __init__(self, host: "XenHost", config: GuestConfig) -> None:
        self.host, self.config, self.name = host, config, config.name
        self.domid = -1
        self._bridge: Command | None = None
        self._channel: Channel | None = None

    def __enter__(self) -> "Guest":
        return self

    def __exit__(self, *exception) -> None:
        if self.alive:
            self.destroy()

    def start(self) -> None:
        folder = self.host.share / "guests" / self.name
        folder.mkdir(parents=True, exist_ok=True)
        kernel, ramdisk = self._kernel(), self._ramdisk(folder)
        (folder / "xl.cfg").write_text(self.config.text(kernel, ramdisk))
        create = self.config.command(f"/lab/guests/{self.name}/xl.cfg", kernel, ramdisk)
        self.host.run(create, CREATE_TIMEOUT).check()
        self.domid = int(self.host.text(["xl", "domid", self.name]))
        own = {kernel, ramdisk} - {DOMU_KERNEL, DOMU_ROOT}
        if own and not self._comes_back:
            self.host.run(["rm", *own]).check()
        self._connect()
        self._check_root()

    def _check_root(self) -> None:
        """Fails if files do not fit in half of its memory: the kernel goes on without the rest."""
        if "Initramfs unpacking failed" in self.dmesg():
            raise LabError(
                f"{self.name}: its files do not fit into {self.config.memory_mib} MiB of memory: "
                "give it more (memory_mib), or fewer files"
            )

    @property
    def _comes_back(self) -> bool:
        """True if xl makes a new domain when the guest reboots."""
        return 'on_reboot="restart"' in self.config.config

    def reboot(self) -> None:
        """Has the guest reboot itself at once; returns when its new domain takes commands."""
        before = self.domid
        self.popen("exec reboot -f")
        self.wait_gone()
        patience = Patience(CREATE_TIMEOUT)
        while (found := self.host.run(["xl", "domid", self.name])).rc or int(
            found.stdout
        ) == before:
            if patience.is_over():
                raise GuestStuck(f"{self.name}: did not come back")
            time.sleep(0.2)
        self.domid = int(found.stdout)
        self._connect_to_new(patience)

    def save(self, path: str) -> None:
        """Runs `xl save` to a file in dom0, which ends the domain.  After restored() all processes
        of the guest go on, except commands: they end with the channel."""
        self.host.run(["xl", "save", str(self.domid), path], SAVE_TIMEOUT).check()
        self.wait_gone()

    def restored(self, host: "XenHost | None" = None) -> None:
        """Call this when its domain was restored, here or on another host.  Returns when the guest
        takes commands."""
        self.host.guests.pop(self.name, None)
        self.host = host or self.host
        self.host.guests[self.name] = self
        self.domid = int(self.host.text(["xl", "domid", self.name]))
        self._connect_to_new(Patience(CREATE_TIMEOUT))

    def where(self) -> dict:
        """How the guest is reached: arguments for adopted()."""
        numbers = {"bridge": self._bridge.number, "numbered": self._channel.numbered}
        return {"domid": self.domid, **numbers}

    def adopted(self, domid: int, bridge: int, numbered: int) -> None:
        """Connects to the guest and its bridge after their host was restored from an image."""
        self.domid = domid
        channel = Channel(lambda data: self._bridge.write(data), self._stuck, numbered)
        self._channel = channel
        self._use_bridge(self.host.adopt(bridge, f"lab-bridge {domid}", channel.feed))

    def adopt(self, number: int, text: str, sink: Callable[[bytes], None] | None = None) -> Command:
        """Returns a command that ran in the guest when the image of its host was made."""
        return self._channel.adopt(number, text, sink)

    def _connect_to_new(self, patience: Patience) -> None:
        """Repeats _connect(): the bridge ends if xl has not made the domain yet."""
        while True:
            try:
                return self._connect()
            except GuestStuck:
                if patience.is_over():
                    raise
                time.sleep(0.5)

    def unpack(self, files: dict[str, Path] | Tree) -> None:
        """Copies {path: source}, with the libraries of programs, over the guest's files."""
        archive = self.host.share / "guests" / self.name / "brought.cpio"
        archive.parent.mkdir(parents=True, exist_ok=True)
        tree_of(files, self.host.debian).write(archive)
        self.run("cd / && exec cpio -idu", stdin=archive.read_bytes()).check()
        archive.unlink()

    @property
    def console_log(self) -> Path:
        return self.host.share / "console" / f"guest-{self.name}.log"

    def console(self) -> str:
        log = self.console_log
        return log.read_text(errors="replace") if log.exists() else ""

    @property
    def alive(self) -> bool:
        """Whether its domain is there and its agent connected."""
        return bool(self._bridge and self._bridge.running) and self.host.alive

    def destroy(self) -> None:
        """Runs `xl destroy`: the guest is gone at once, as in a crash."""
        self.host.run(["xl", "destroy", str(self.domid)], DESTROY_TIMEOUT).check()
        self.wait_gone()

    def wait_gone(self, timeout: float = DESTROY_TIMEOUT) -> None:
        """Waits until the hypervisor does not know the domain any more."""
        patience = Patience(timeout)
        while self.host.run(["xl", "domname", str(self.domid)]).rc == 0:
            if patience.is_over():
                raise GuestStuck(f"{self.name}: domain {self.domid} is still there")
            time.sleep(0.2)
        if self._channel:
            self._channel.close(f"{self.name} is gone")
        if self._bridge:
            self._bridge.wait(timeout)

    def _kernel(self) -> str:
        """The path in dom0 of the kernel that it boots."""
        if not self.config.kernel:
            return DOMU_KERNEL
        path = f"/run/{self.name}.vmlinux"
        self.host.put(kernel_image(self.config.kernel), path)
        return path

    def _ramdisk(self, folder: Path) -> str:
        """The path in dom0 of its root file system with its files."""
        added, root = [], DOMU_ROOT
        if self.config.kernel:
            root = f"/run/{self.name}.domu"
            self.host.put(domu_root(self.config.kernel, self.host.debian), root)
        if (self.host.share / GUEST_FILES).exists():
            added.append(f"/lab/{GUEST_FILES}")
        if self.config.files:
            tree_of(self.config.files, self.host.debian).write(folder / "files.cpio")
            added.append(f"/lab/guests/{self.name}/files.cpio")
        if not added:
            return root
        path = f"/run/{self.name}.cpio"
        self.host.run(f"cat {root} {' '.join(added)} > {path}").check()
        if root != DOMU_ROOT:
            self.host.run(["rm", root]).check()
        return path

    def _connect(self) -> None:
        channel = Channel(lambda data: self._bridge.write(data), self._stuck)
        self._channel = channel
        self._use_bridge(self.host.popen(["lab-bridge", str(self.domid), VCHAN], sink=channel.feed))
        try:
            ready = channel.wait_ready(CREATE_TIMEOUT)
        except ChannelClosed as gone:
            raise GuestStuck(f"{gone}\n{self.console()[-4000:]}") from gone
        if not ready:
            self._stuck(f"no agent after {CREATE_TIMEOUT:.0f} s")

    def _use_bridge(self, bridge: Command) -> None:
        channel = self._channel
        bridge.on_end = lambda: channel.close(f"{self.name} is gone; console: {self.console_log}")
        if not bridge.running:  # it may have ended before on_end was set
            bridge.on_end()
        self._bridge = bridge

    def _stuck(self, what: str) -> None:
        console = self.console()
        raise GuestStuck(f"{self.name}: {what}\n---- its console\n{console[-4000:]}")
