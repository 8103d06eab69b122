# SPDX-License-Identifier: GPL-2.0-or-later
"""vRead on an emulated host as its packages install it (packages.py), for
tests/xen/test_from_packages.py: services by their units, domains and configuration as
docs/install.md prints them, stock HDFS in the domains.

    host = XenHost("h", files=packages.dom0(), guest_files=packages.guest(("hdfs",)), ...)
    services = Services(host, packages)
    services.start()
    hdfs = InstalledHdfs(host, services, domains={"client": text, ...}, own={"client": {...}})
"""

import re
from pathlib import Path

from . import hadoop
from .debian import Debian
from .deployment import Backend
from .host import XenHost
from .packages import BACKEND, Packages

UNITS = "/lib/systemd/system"
CONFIG = "/etc/vread/vread.conf"
SETPRIV = "/usr/local/bin/setpriv"
JAR = "/usr/share/vread/vread-hdfs.jar"


class Services(Backend):
    """vreadd, and xl-vread's watch beside it.  Both run the command lines of their units, with the
    folders that the units ask systemd for."""

    def __init__(self, host: XenHost, packages: Packages, group: str = "") -> None:
        """group: of vreadd, whose user is root here.  Needs setpriv in dom0 (SETPRIV)."""
        super().__init__(host, {})
        self._packages = packages
        self._as_group = f"{SETPRIV} --regid {group} --clear-groups " if group else ""
        self._watch = None

    def start(self) -> None:
        super().start()
        if not self._watch:
            command = f"{self._unit('xl-vread')} >>/var/log/xl-vread.log 2>&1"
            self._watch = self.host.popen(command)

    def restart(self) -> None:
        """Restarts vreadd."""
        self.stop()
        self.start()

    def reload(self) -> None:
        """Reloads the configuration, as `systemctl reload vreadd` does."""
        self.host.run(["xl-vread", "reload"]).check()

    def _configure(self) -> None:
        """Does nothing: the configuration is the package's, with later changes by the test."""

    def _command(self) -> str:
        return self._unit("vreadd", self._as_group)

    def _unit(self, name: str, prefix: str = "") -> str:
        text = self._packages.file(BACKEND, f"{UNITS}/{name}.service").read_text()
        said = dict(re.findall(r"^(\w+)=(.*)$", text, re.M))
        folders = [f"/var/lib/{said['StateDirectory']}"]
        folders += [f"/run/{said['RuntimeDirectory']}"] if "RuntimeDirectory" in said else []
        state = f"STATE_DIRECTORY={folders[0]}"
        return f"mkdir -p {' '.join(folders)}; exec {prefix}env {state} {said['ExecStart']}"


class InstalledHdfs(hadoop.Hdfs):
    """domains: {domU: xl.cfg as printed}, created by xl-vread.  own: {domU: properties of its
    Hadoop}."""

    jar = JAR

    def __init__(
        self,
        host: XenHost,
        services: Services,
        domains: dict[str, str],
        own: dict[str, dict[str, str]],
        **arguments,
    ) -> None:
        self._domains, self._own = domains, own
        super().__init__(host, services, **arguments)

    def _creation(self, name: str) -> dict:
        if name not in self._domains:
            return {}
        return {"printed": self._domains[name], "create": "xl-vread create"}

    def _plugin_files(self, debian: Debian) -> dict[str, Path]:
        return {}

    def _own_properties(self, name: str) -> dict[str, str]:
        return self._own.get(name, {})

    def _connect(self, name: str) -> None:
        """Waits for the device: xl-vread made it, and udev loads the module."""
        self.backend.wait_connected(self.guests[name])
