# SPDX-License-Identifier: GPL-2.0-or-later
"""Certificates and sections of vread.conf for hosts that read from each other.  Tests, benches and
demos use them.

authority = Authority(folder)
peers = authority.host("b", listen="127.0.0.1:7867")      # a section [peers]
other = peer("a", allow_datanodes="dn1")                  # a section [peer a]

If the files are installed elsewhere, as in dom0 of an emulated host:

files = authority.installed("a", "b")                     # {path there: file here}
peers = installed_host("b", listen="10.99.0.1:7867")      # a section [peers] for that place

Keys are not encrypted.  Certificates are valid for two days.
"""

import subprocess

INSTALLED = "/etc/vread/peers"

CA_CONFIG = """
[ca]
default_ca = it
[it]
database = {folder}/index.txt
new_certs_dir = {folder}
rand_serial = yes
default_md = sha256
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
"""


class PeersError(RuntimeError):
    pass


def openssl(*arguments):
    command = ["openssl", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeersError(f"{' '.join(command[:2])}: {done.stderr.strip()}")


class Authority:
    def __init__(self, folder, name="authority"):
        self.folder = folder / name
        self.folder.mkdir()
        self.ca = self.folder / "ca.pem"
        self._made = {}
        (self.folder / "index.txt").touch()
        (self.folder / "ca.conf").write_text(CA_CONFIG.format(folder=self.folder))
        openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-keyout", self.folder / "ca.key", "-out", self.ca, "-days", 2),
            *("-subj", f"/CN={name}", "-addext", "basicConstraints=critical,CA:TRUE"),
        )

    def certificate(self, name, san=None, start="", end=""):
        """The files (certificate, key) for a host of that name.  start, end: YYYYMMDDHHMMSSZ.  The
        same arguments give the same files again."""
        wanted = name, san, start, end
        if wanted not in self._made:
            self._made[wanted] = self._make(*wanted)
        return self._made[wanted]

    def _make(self, name, san, start, end):
        at = self.folder / f"{name}-{len(self._made)}"
        key, request, certificate = (at.with_name(at.name + s) for s in (".key", ".csr", ".pem"))
        extension = ("-addext", f"subjectAltName=DNS:{san}") if san else ()
        openssl(
            *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-keyout", key, "-out", request, "-subj", f"/CN={name}", *extension),
        )
        dates = ("-startdate", start, "-enddate", end) if end else ("-days", 2)
        openssl(
            *("ca", "-batch", "-config", self.folder / "ca.conf", "-notext"),
            *("-cert", self.ca, "-keyfile", self.folder / "ca.key", *dates),
            *("-in", request, "-out", certificate),
        )
        return certificate, key

    def revoke(self, *certificates):
        """Revokes these certificates, and writes and returns the new list of all revoked ones."""
        authority = ("-keyfile", self.folder / "ca.key", "-cert", self.ca)
        config = ("ca", "-batch", "-config", self.folder / "ca.conf", *authority)
        for certificate in certificates:
            openssl(*config, "-revoke", certificate)
        made, crl = self.folder / "new-crl.pem", self.folder / "crl.pem"
        openssl(*config, "-gencrl", "-crldays", 2, "-out", made)
        made.rename(crl)  # readers see the old list or the new one
        return crl

    def host(self, name, files=None, ca=None, **keys):
        """The section [peers] of the host of that name."""
        certificate, key = files or self.certificate(name)
        return section(
            "peers", name=name, certificate=certificate, key=key, ca=ca or self.ca, **keys
        )

    def installed(self, *names):
        """{path there: file here} of hosts of these names, with the paths of installed_host()."""
        files = {f"{INSTALLED}/ca.pem": self.ca}
        for name in names:
            certificate, key = self.certificate(name)
            files |= {f"{INSTALLED}/{name}.pem": certificate, f"{INSTALLED}/{name}.key": key}
        return files


def installed_host(name, **keys):
    """The section [peers] of a host that has the files of Authority.installed()."""
    files = {"certificate": f"{INSTALLED}/{name}.pem", "key": f"{INSTALLED}/{name}.key"}
    return section("peers", name=name, ca=f"{INSTALLED}/ca.pem", **files, **keys)


def section(title, **keys):
    lines = "".join(f"{k.replace('_', '-')} = {v}\n" for k, v in keys.items())
    return f"[{title}]\n{lines}"


def peer(name, **keys):
    return section(f"peer {name}", **keys)
