# SPDX-License-Identifier: GPL-2.0-or-later
"""A Kerberos KDC on loopback, for clusters that trust nobody without a ticket.

    with Kdc(folder) as kdc:
        cluster = HdfsCluster(..., conf=kdc.properties(), java_options=kdc.java_options)

It is MIT's KDC, of Debian's packages krb5-kdc and krb5-admin-server, with a database in `folder`.
It reads nothing of /etc/krb5.conf.  Tickets are for one realm, of the name REALM.
"""

import os
import subprocess

from tools.hdfs import jvm
from tools.hdfs.errors import HdfsError
from tools.hdfs.ports import free_ports

REALM = "VREAD.TEST"
START_TIMEOUT = 60
NAMENODE = f"hdfs/localhost@{REALM}"
DATANODE = f"dn/localhost@{REALM}"
WEB = f"HTTP/localhost@{REALM}"
KRB5_CONF = """\
[libdefaults]
    default_realm = {realm}
    dns_lookup_kdc = false
    dns_lookup_realm = false
    dns_canonicalize_hostname = false
    rdns = false
    udp_preference_limit = 1
[realms]
    {realm} = {{
        kdc = 127.0.0.1:{port}
    }}
"""
KDC_CONF = """\
[kdcdefaults]
    kdc_listen = ""
    kdc_tcp_listen = 127.0.0.1:{port}
[realms]
    {realm} = {{
        database_name = {folder}/principal
        key_stash_file = {folder}/stash
        acl_file = {folder}/acl
        supported_enctypes = aes256-cts-hmac-sha1-96:normal
    }}
[logging]
    kdc = STDERR
"""


class Kdc:
    """Use as a context manager."""

    def __init__(self, folder):
        self.folder = folder
        self._conf = folder / "krb5.conf"
        self._environment = os.environ | {
            "KRB5_CONFIG": str(self._conf),
            "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
        }
        self._daemon = None

    def __enter__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        (port,) = free_ports(1)
        places = {"realm": REALM, "port": port, "folder": self.folder}
        self._conf.write_text(KRB5_CONF.format(**places))
        (self.folder / "kdc.conf").write_text(KDC_CONF.format(**places))
        self._run("kdb5_util", "create", "-s", "-P", "vread")
        for principal in (NAMENODE, DATANODE, WEB):
            self.add(principal)
        self._daemon = jvm.Daemon(
            "krb5kdc", ["/usr/sbin/krb5kdc", "-n"], self.folder / "krb5kdc.log", self._environment
        )
        jvm.wait_until(self._answers, [self._daemon], "KDC", START_TIMEOUT)
        return self

    def __exit__(self, *_):
        self._daemon.stop()

    def _answers(self):
        return self._daemon.logged("commencing operation")

    @property
    def java_options(self):
        return [*jvm.SHORT_LIVED, f"-Djava.security.krb5.conf={self._conf}"]

    def add(self, principal):
        """Makes the principal, with a random key, and its keytab."""
        self._run("kadmin.local", "addprinc", "-randkey", principal)
        self._run("kadmin.local", "ktadd", "-k", self.keytab(principal), principal)

    def keytab(self, principal):
        return self.folder / f"{principal.partition('@')[0].replace('/', '-')}.keytab"

    def log_in(self, principal):
        """Gets a ticket by the keytab.  Returns the environment of programs that use the ticket."""
        cache = self.folder / f"{principal.partition('@')[0]}.tickets"
        self._run("kinit", "-k", "-t", self.keytab(principal), "-c", cache, principal)
        return {"KRB5CCNAME": str(cache)}

    def properties(self):
        """Of clients and daemons.  All that HDFS sends is encrypted.  The datanodes are allowed
        ports that any user may take, and pages without HTTPS, as Hadoop's own tests allow them."""
        return {
            "hadoop.security.authentication": "kerberos",
            "hadoop.rpc.protection": "privacy",
            "dfs.data.transfer.protection": "privacy",
            "dfs.block.access.token.enable": "true",
            "dfs.namenode.kerberos.principal": NAMENODE,
            "dfs.namenode.keytab.file": self.keytab(NAMENODE),
            "dfs.datanode.kerberos.principal": DATANODE,
            "dfs.datanode.keytab.file": self.keytab(DATANODE),
            "dfs.web.authentication.kerberos.principal": WEB,
            "dfs.web.authentication.kerberos.keytab": self.keytab(WEB),
            "ignore.secure.ports.for.testing": "true",
        }

    def _run(self, program, *words):
        command = [program, *map(str, words)]
        path = f"{os.environ['PATH']}:/usr/sbin"
        try:
            done = subprocess.run(
                command, env=self._environment | {"PATH": path}, capture_output=True, text=True
            )
        except FileNotFoundError as error:
            raise HdfsError(f"{program} is not installed; run `make setup`") from error
        if done.returncode != 0:
            raise HdfsError(f"{program} {words} failed (exit {done.returncode}): {done.stderr}")
