# SPDX-License-Identifier: GPL-2.0-or-later
"""An emulated Xen host: a hypervisor, a dom0 and guests.  Tests, benches, demos and
`make lab` start hosts.

with XenHost("h1", disks=[image]) as host:
    host.run("xl info").check()
    with host.create_guest("g1", disks=["phy:/dev/vda,xvda,r"]) as guest:
        guest.run("md5sum /dev/xvda")
"""

import contextlib
import shutil
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.patience import Patience

from . import qemu, states
from .channel import Channel, ChannelClosed, Command
from .claim import Claim
from .debian import BOOKWORM, Debian
from .guest import GUEST_FILES, Guest, GuestConfig, GuestKind
from .kernel_log import KernelLogs
from .kernels import Kernel
from .monitor import Monitor
from .paths import RUN, LabError
from .qemu import Disk, Wire
from .rootfs import Tree, tree_of
from .roots import dom0_root
from .shell import Shell

# Ten times and more what each takes on a quiet machine with two cores.
BOOT_TIMEOUT = 240.0
STOP_TIMEOUT = 20.0
SEND_TIMEOUT = struct.pack("ll", 60, 0)  # a struct timeval
WIRE_TIMEOUT = 20.0
WAIT_STEP = 0.2
WIRE_MTU = 9000
TAIL_BYTES = 4000
EXTENDED_ROOT, EXTRA_FILES = "dom0.cpio", "files.cpio"

# Messages of Xen, dom0 or our init on the console after which a host cannot come up.
FATAL = (b"Panic on CPU", b"Kernel panic", b"crashed: ", b"lab: FAILED")


class HostStuck(LabError):
    """A host that died or does not answer; it has been killed.  The message
    has the end of its console."""


class XenHost(Shell):
    shell = "bash"  # of dom0

    def __init__(
        self,
        name: str,
        *,
        memory_mib: int = 2048,
        dom0_mib: int = 1024,
        disks: Sequence[Path | Disk] = (),
        files: dict[str, Path] | Tree | None = None,
        guest_files: dict[str, Path] | Tree | None = None,
        guest_kind: GuestKind | None = None,
        wire: Wire | None = None,
        cpus: int = 1,
        xen_options: Sequence[str] = (),
        state: states.State | None = None,
        counter: Path | None = None,
        debian: Debian = BOOKWORM,
        progress: Callable[[str], None] = lambda text: None,
    ) -> None:
        """files: {path in dom0: source}; guest_files: the same for all guests.  Programs bring
        their libraries, but a Tree is taken as it is.  guest_kind: what guests are if their own
        create_guest() does not say it.  disks: /dev/vda, /dev/vdb ... in dom0; plain paths become
        snapshots.  cpus: each is a thread that emulates; more than one is for tests of several
        processors, and for runs that have the machine to themselves.  xen_options: more of Xen's
        command line, as "sched=credit".  state: restores the host in it instead of booting.
        counter: the file in which the emulator counts instructions (counter.py); with one cpu only.
        debian: the release of which dom0 and guests are made, with its hypervisor.
        """
        self.name, self._memory, self._dom0_memory = name, memory_mib, dom0_mib
        self._disks = tuple(d if isinstance(d, Disk) else Disk(Path(d)) for d in disks)
        self._files, self._guest_files = files or {}, guest_files or {}
        self._guest_kind = guest_kind or GuestKind()
        self._wire, self.cpus, self.progress = wire, cpus, progress
        self.debian = debian
        self._xen_options = tuple(xen_options)
        self._state, self._image, self._counter = state, None, counter
        self._monitor: Monitor | None = None
        self.told: dict = {}  # what prepare() of its state returned
        self._use_folder(RUN / name)
        self.guests: dict[str, Guest] = {}
        self._kernel_logs = KernelLogs()
        self._claim: Claim | None = None
        self._process = None
        self._socket: socket.socket | None = None
        self._channel: Channel | None = None
        self._started = 0.0

    def __enter__(self) -> "XenHost":
        return self.start()

    def __exit__(self, *exception) -> None:
        self.stop()

    # ---- life ------------------------------------------------------------

    def start(self) -> "XenHost":
        """Boots or restores the host; returns when dom0 takes commands."""
        try:
            self.progress("making root file systems")
            machine = self._prepare()
            if self._state:
                self._restore(machine, self._state)
            else:
                self._boot(machine)
            self._plug_wire()
        except BaseException:
            self._end()
            raise
        self.progress(f"dom0 is up after {self.uptime:.1f} s")
        return self

    def stop(self) -> None:
        """Ends the host and everything on it; logs stay under `folder`."""
        if self.alive:
            with contextlib.suppress(LabError):
                self.run(
                    "dmesg >/lab/log/dom0-dmesg; xl dmesg >/lab/log/xen-dmesg; sync", STOP_TIMEOUT
                )
        self._end()

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def uptime(self) -> float:
        return time.monotonic() - self._started

    # ---- dom0 ------------------------------------------------------------

    def put(self, source: Path, path: str) -> None:
        """Copies a file into dom0, with its mode."""
        staged = self._stage()
        shutil.copy(source, staged)
        script = 'mkdir -p "$(dirname "$2")" && cp "$1" "$2" && chmod "$3" "$2"'
        arguments = [f"/lab/{staged.name}", path, _mode(source)]
        self.run(["bash", "-c", script, "put", *arguments]).check()
        staged.unlink()

    def get(self, path: str, target: Path) -> None:
        """Copies a file out of dom0."""
        staged = self._stage()
        self.run(["cp", path, f"/lab/{staged.name}"]).check()
        shutil.move(staged, target)

    def cpu_seconds(self) -> dict[str, float]:
        """CPU time of every domain so far, by name."""
        times = (line.split() for line in self.text(["lab-cpu"]).splitlines())
        return {name: int(nanoseconds) / 1e9 for name, nanoseconds in times}

    def xenstore_ls(self, path: str = "/") -> dict[str, str]:
        """Every node below `path`, by full path."""
        nodes = {}
        for line in self.text(["xenstore-ls", "-f", path]).splitlines():
            node, _, value = line.partition(" = ")
            nodes[node] = value[1:-1] if value.startswith('"') else value
        return nodes

    def console(self) -> bytes:
        """What Xen and dom0 wrote to the serial port."""
        return self.console_log.read_bytes() if self.console_log.exists() else b""

    # ---- guests ----------------------------------------------------------

    def create_guest(
        self,
        name: str,
        *,
        memory_mib: int | None = None,
        disks: Sequence[str] = (),
        vifs: Sequence[str] = (),
        files: dict[str, Path] | None = None,
        extra: str = "",
        config: Sequence[str] = (),
        create: str = "xl create",
        kernel: Kernel | None = None,
        printed: str = "",
        vcpus: int | None = None,
    ) -> Guest:
        """Starts a PV guest; returns when it takes commands.

        memory_mib, kernel, vcpus: instead of those of the host's kind of guests.  disks: as in
        xl.cfg ("phy:/dev/vda,xvda,r").  vifs: addresses of eth0, eth1 ...; dom0's bridge has
        10.77.0.1/24.  extra: kernel arguments.  config: lines of xl.cfg.  create: the command that
        takes the xl.cfg.  printed: a whole xl.cfg to use instead, of a domain of that name with its
        interfaces; only the kernel with its arguments, ramdisk, memory and disks are those given
        here.
        """
        kind = self._guest_kind
        settings = GuestConfig(
            name,
            memory_mib or kind.memory_mib,
            tuple(disks),
            tuple(vifs),
            files or {},
            extra,
            tuple(config),
            create,
            kernel or kind.kernel,
            printed,
            vcpus or kind.vcpus,
        )
        guest = Guest(self, settings)
        try:
            guest.start()
        except LabError:
            if self.alive:
                self.run(["xl", "destroy", name])
            raise
        self.guests[name] = guest
        return guest

    def check_dmesg(self) -> None:
        """Raises KernelComplaint when a kernel of this host reported a bug since
        the last call.  Of guests that are gone it reads the consoles only."""
        consoles = {"dom0": self.console().decode(errors="replace")}
        for path in sorted((self.share / "console").glob("guest-*.log")):
            consoles[path.stem.removeprefix("guest-")] = path.read_text(errors="replace")
        buffers = {"dom0": self.dmesg()}
        for guest in list(self.guests.values()):
            if guest.alive:
                buffers[f"{guest.name}, domain {guest.domid}"] = guest.dmesg()
        self._kernel_logs.check(consoles, buffers)

    def adopt(self, number: int, text: str, sink: Callable[[bytes], None] | None = None) -> Command:
        """Returns a command that ran in dom0 when the image of this host was made."""
        return self._channel.adopt(number, text, sink)

    # ---- inside ----------------------------------------------------------

    def _boot(self, machine: qemu.Machine) -> None:
        self.progress("booting Xen")
        self._launch(machine)
        self._wait_up(lambda: self._channel.wait_ready(WAIT_STEP))
        self._drop_root()

    def _launch(self, machine: qemu.Machine, kept: dict | None = None) -> None:
        """kept: kept.json of the saved machine that this one goes on from."""
        self._started = time.monotonic()
        self._monitor = Monitor() if machine.image else None
        port = self._monitor.theirs if self._monitor else None
        self._process, self._socket = qemu.start(machine, self.folder / "qemu.log", port)
        if self._monitor:
            self._monitor.theirs.close()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, SEND_TIMEOUT)
        self._channel = Channel(self._send, self._fail, kept["numbered"] if kept else 0)
        for name, where in (kept or {}).get("guests", {}).items():
            self.guests[name] = Guest(self, GuestConfig(name))
            self.guests[name].adopted(**where)
        threading.Thread(target=self._receive, name=f"lab-{self.name}", daemon=True).start()

    def _restore(self, machine: qemu.Machine, state: states.State) -> None:
        with state.locked():
            folder = state.folder(machine)
            if not self._went_on(machine, folder):
                self.progress(f"making the state {state.stem}, for this run and later ones")
                state.make(folder, lambda making: _Original(self, making).keep(state))
                self._go_on(machine, folder)
        self._bring_files()

    def _went_on(self, machine: qemu.Machine, folder: Path) -> bool:
        """Restores the host from the folder.  False: there is no such state, or it is damaged."""
        if not folder.is_dir():
            return False
        try:
            self._go_on(machine, folder)
        except (LabError, OSError, ValueError) as error:
            self._kill()
            self.guests.clear()
            self.progress(f"{folder.name} is damaged: {error}")
            return False
        return True

    def _go_on(self, machine: qemu.Machine, folder: Path) -> None:
        kept = states.read_kept(folder)
        self.progress(f"restoring Xen from {folder.name}")
        self._launch(states.restored_machine(machine, folder), kept)
        self._monitor.restore(folder / states.DEVICES)
        share = self.popen(f"hostname {self.name} && {_set_clock()} && exec lab-share")
        self._wait_up(lambda: _is_over(share))
        share.wait().check()
        for guest in self.guests.values():
            guest.run(_set_clock()).check()
        self.told = kept["told"]

    def _bring_files(self) -> None:
        """Copies the files that a booted host and its guests have in their roots."""
        if self._files:
            added = self.share / EXTRA_FILES
            tree_of(self._files, self.debian).write(added)
            self.run(f"cd / && exec cpio -idu </lab/{added.name}").check()
            added.unlink()
        if self._guest_files:
            for guest in self.guests.values():
                guest.unpack(self._guest_files)

    def _prepare(self) -> qemu.Machine:
        self._claim = Claim(self.name)
        self._use_folder(self._claim.folder)
        for folder in ("console", "log"):
            (self.share / folder).mkdir(parents=True)
        if self._state or self._image:
            root = dom0_root(True, self.debian)  # a state serves hosts with and without RDMA
        else:
            root = dom0_root(bool(self._wire and self._wire.rdma), self.debian)
            root = self._extended(root) if self._files else root
        if self._guest_files:
            tree_of(self._guest_files, self.debian).write(self.share / GUEST_FILES)
        if self._wire and not self._wire.listen:
            _wait_socket(self._wire.path)
        return qemu.Machine(
            self.name,
            self._memory,
            self._dom0_memory,
            root,
            self.share,
            self.console_log,
            self._disks,
            self._wire,
            self.cpus,
            self._xen_options,
            self._image,
            self._counter,
            self.debian,
        )

    def _extended(self, root: Path) -> Path:
        """The root with `files` appended: the kernel unpacks consecutive archives into one."""
        path = self.folder / EXTENDED_ROOT
        shutil.copyfile(root, path)
        added = self.folder / EXTRA_FILES
        tree_of(self._files, self.debian).write(added)
        with path.open("ab") as out:
            out.write(added.read_bytes())
        return path

    def _drop_root(self) -> None:
        """Removes archives that only the boot needed: they are large."""
        for name in (EXTENDED_ROOT, EXTRA_FILES):
            (self.folder / name).unlink(missing_ok=True)

    def _use_folder(self, folder: Path) -> None:
        self.folder = folder
        self.share = folder / "share"
        self.console_log = folder / "console.log"

    def _stage(self) -> Path:
        return self.share / f"copy-{time.monotonic_ns()}"

    def _wait_up(self, up: Callable[[], bool]) -> None:
        patience = Patience(BOOT_TIMEOUT)
        while True:
            with contextlib.suppress(ChannelClosed):
                if up():
                    return
            if not self.alive:
                self._fail(f"emulator exited with status {self._process.returncode}")
            if any(word in self.console() for word in FATAL):
                time.sleep(1)  # until its last messages are written
                self._fail("host failed to boot")
            if patience.is_over():
                self._fail(f"dom0 is not up after {BOOT_TIMEOUT:.0f} s")

    def _plug_wire(self) -> None:
        if self._wire:
            ip = "/usr/sbin/ip"
            if self._state:
                self.run(f"{ip} link set eth0 address {self._wire.mac}").check()
            self.run(f"{ip} addr add {self._wire.address} dev eth0").check()
            self.run(f"{ip} link set eth0 mtu {WIRE_MTU} up").check()
            if self._wire.rdma:
                self.run("rdma link add rxe0 type rxe netdev eth0").check()

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except BlockingIOError:
            self._fail("dom0 takes no input")
        except OSError as error:
            raise ChannelClosed(f"{self.name}: the emulator is gone ({error})") from error

    def _receive(self) -> None:
        data = b"-"
        while data:
            try:
                data = self._socket.recv(1 << 18)
            except OSError:
                break
            self._channel.feed(data)
        self._channel.close(f"{self.name}: the emulator is gone\n{self._tails()}")

    def _fail(self, what: str) -> None:
        tails = self._tails()
        self._kill()
        raise HostStuck(f"{self.name}: {what}; killed\n{tails}")

    def _tails(self) -> str:
        console = self.console()[-TAIL_BYTES:].decode(errors="replace").replace("\r", "")
        emulator = (self.folder / "qemu.log").read_text(errors="replace").partition("\n")[2]
        return (
            f"---- end of {self.console_log}\n{console}\n---- emulator\n{emulator[-1000:]}".strip()
        )

    def _kill(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
        if self._socket:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
        if self._channel:
            self._channel.close(f"{self.name}: stopped")
        if self._monitor:
            self._monitor.close()

    def _end(self) -> None:
        self._kill()
        if self._claim:
            self._claim.release()


class _Original(XenHost):
    """The host of which a state's image is made.  It has the disks and the sizes of the host `of`,
    which will be restored from the image."""

    def __init__(self, of: XenHost, folder: Path) -> None:
        super().__init__(
            f"{of.name}-original",
            memory_mib=of._memory,
            dom0_mib=of._dom0_memory,
            disks=states.original_disks(of._disks, folder),
            cpus=of.cpus,
            xen_options=of._xen_options,
            debian=of.debian,
            progress=of.progress,
        )
        self._folder = folder

    def keep(self, state: states.State) -> None:
        """Boots the host, prepares it and saves it."""
        with states.memory_file() as memory:
            self._image = qemu.Image(memory)
            self._keep(state)
            states.copy_memory(memory, self._folder / states.MEMORY)

    def _keep(self, state: states.State) -> None:
        with self:
            told = state.prepare(self)
            self.run("sync; umount /lab").check()
            guests = {name: guest.where() for name, guest in self.guests.items()}
            kept = {"numbered": self._channel.numbered, "guests": guests, "told": told}
            self._monitor.save(self._folder / states.DEVICES)
            states.write_kept(self._folder, kept)
            self._kill()


def _is_over(command: Command) -> bool:
    with contextlib.suppress(TimeoutError):
        command.wait(WAIT_STEP)
    return not command.running


def _wait_socket(path: Path) -> None:
    patience = Patience(WIRE_TIMEOUT)
    while not path.is_socket():
        if patience.is_over():
            raise LabError(f"{path}: no host listens there; start that one first")
        time.sleep(0.1)


def _set_clock() -> str:
    """The command that sets a restored machine's clock: its time is that of the save."""
    return f"date -s @{int(time.time())} >/dev/null"


def _mode(path: Path) -> str:
    return f"{path.stat().st_mode & 0o777:o}"
