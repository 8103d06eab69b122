# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the bill of materials of a release, SPDX 2.3 as JSON.  debian/make-packages.sh calls it.

    python3 tools/sbom.py FOLDER

Reads the packages in FOLDER, and writes FOLDER/vread.spdx.json: each package with its version,
checksum and licences, the Debian packages that it needs when it runs, and Hadoop's jars, which
whoever runs the plug-ins provides.  Debian 12 has no program that does this for packages that are
being made.  Equal packages make an equal file.

Of a package of Debian the file has no version: the one that is installed is not known here.  What
the package asks for is in the comment of the relationship.
"""

import hashlib
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from datetime import UTC, datetime
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
OURS = "vRead for Xen authors"
# The folders with the sources of each package, by which debian/copyright tells its licences.
SOURCES = {
    "libvread-dev": ["hdfs-native"],
    "libvread1": ["hdfs-native", "xenstore-schema"],
    "vread-backend": ["tools", "xen-backend", "xenstore-schema"],
    "vread-bench": ["tools"],
    "vread-frontend-dkms": ["linux-frontend", "linux-frontend/uapi", "xenstore-schema"],
    "vread-hdfs": ["hdfs-native", "xenstore-schema"],
    "vread-tools": ["hdfs-native", "tools", "xenstore-schema"],
}
# Names of licences in debian/copyright that SPDX writes in another way.
IN_SPDX = {
    "GPL-2.0": "GPL-2.0-only",
    "GPL-2.0 with Linux-syscall-note or MIT": "(GPL-2.0-only WITH Linux-syscall-note OR MIT)",
}
POM = "{http://maven.apache.org/POM/4.0.0}"
APACHE = "Apache Software Foundation"


def run(*command):
    done = subprocess.run(
        command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, stderr=sys.stderr, text=True
    )
    return done.stdout.strip()


def licence(path):
    """The licence of a folder or file by debian/copyright: the last matching stanza counts."""
    text = (REPOSITORY / "debian/copyright").read_text()
    found = None
    for files, name in re.findall(r"^Files: (\S+)\nCopyright: .*\nLicense: (.*)$", text, re.M):
        if files == "*" or f"{path}/".startswith(files.rpartition("/")[0] + "/"):
            found = name
    return IN_SPDX.get(found, found)


def licences(paths):
    return " AND ".join(dict.fromkeys(licence(path) for path in paths))


def wants(path, field):
    """The packages in a field of a package's control data, with their versions."""
    return [needed for needed in run("dpkg-deb", "-f", path, field).split(", ") if needed]


def identifier(*parts):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(parts))


def package(name, spdx_id, **fields):
    return {
        "name": name,
        "SPDXID": spdx_id,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
    } | fields


def with_purl(purl):
    reference = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl"}
    return {"externalRefs": [reference | {"referenceLocator": purl}]}


class Bill:
    """The packages and relationships of the document, by identifier."""

    def __init__(self):
        self.packages = {}
        self.relationships = []
        self.digest = hashlib.sha256()

    def relate(self, subject, kind, other, comment=None):
        relationship = {
            "spdxElementId": subject,
            "relationshipType": kind,
            "relatedSpdxElement": other,
        }
        self.relationships.append(relationship | ({"comment": comment} if comment else {}))

    def add_ours(self, path):
        name, version = run("dpkg-deb", "-W", "--showformat=${Package} ${Version}", path).split()
        if name not in SOURCES:
            raise SystemExit(f"{path.name}: tools/sbom.py does not know its sources; add them")
        data = path.read_bytes()
        self.digest.update(data)
        sum_ = {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}
        spdx_id = identifier("Package", name)
        fields = {
            "versionInfo": version,
            "packageFileName": path.name,
            "supplier": f"Organization: {OURS}",
            "checksums": [sum_],
            "licenseDeclared": licences(SOURCES[name]),
            "copyrightText": f"2026 The {OURS}",
        }
        documents = REPOSITORY / f"debian/{name}.docs"
        if documents.exists():
            fields["licenseComments"] = f"Documents: {licences(documents.read_text().split())}"
        self.packages[spdx_id] = package(name, spdx_id, **fields)
        self.relate("SPDXRef-DOCUMENT", "DESCRIBES", spdx_id)

    def add_needs(self, path):
        """What a package needs.  Of alternatives the first is named."""
        spdx_id = identifier("Package", run("dpkg-deb", "-f", path, "Package"))
        for needed in wants(path, "Pre-Depends") + wants(path, "Depends"):
            self.relate(spdx_id, "DEPENDS_ON", self.of_debian(needed), needed)
        for needed in wants(path, "Recommends"):
            self.relate(self.of_debian(needed), "OPTIONAL_DEPENDENCY_OF", spdx_id, needed)

    def of_debian(self, needed):
        """The identifier of the package, which may be one of ours."""
        name = re.match(r"[a-z0-9][a-z0-9+.-]+", needed)[0]
        ours = identifier("Package", name)
        if ours in self.packages:
            return ours
        spdx_id = identifier("Debian", name)
        fields = {"supplier": "Organization: Debian"} | with_purl(f"pkg:deb/debian/{name}")
        self.packages[spdx_id] = package(name, spdx_id, **fields)
        return spdx_id

    def add_hadoop(self):
        """What the module of the plug-ins is compiled with, and its user provides."""
        root = ElementTree.parse(REPOSITORY / "hdfs-native/java/pom.xml").getroot()
        version = root.findtext(f"{POM}properties/{POM}hadoop.version")
        for needed in root.iter(f"{POM}dependency"):
            group, name, scope = (
                needed.findtext(f"{POM}{part}") for part in ("groupId", "artifactId", "scope")
            )
            if scope != "provided":
                continue
            spdx_id = identifier("Maven", group, name)
            fields = {"versionInfo": version, "supplier": f"Organization: {APACHE}"}
            fields |= with_purl(f"pkg:maven/{group}/{name}@{version}")
            self.packages[spdx_id] = package(f"{group}:{name}", spdx_id, **fields)
            ours = identifier("Package", "vread-hdfs")
            self.relate(spdx_id, "PROVIDED_DEPENDENCY_OF", ours, f"{version} or later")


def document(folder):
    bill = Bill()
    paths = [path for path in sorted(folder.glob("*.deb")) if "-dbgsym_" not in path.name]
    if not paths:
        raise SystemExit(f"{folder}: there are no packages; run make deb")
    for path in paths:
        bill.add_ours(path)
    for path in paths:
        bill.add_needs(path)
    bill.add_hadoop()
    # Of one `make deb`, on one release of Debian, which is in the version.
    (version,) = {run("dpkg-deb", "-f", path, "Version") for path in paths}
    made = datetime.fromtimestamp(int(run("dpkg-parsechangelog", "-S", "Timestamp")), UTC)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"vread-{version}",
        "documentNamespace": f"https://vread.example/spdx/vread-{version}-"
        f"{bill.digest.hexdigest()}",
        "creationInfo": {
            "created": made.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": [f"Organization: {OURS}", f"Tool: vread-sbom-{version}"],
        },
        "packages": list(bill.packages.values()),
        "relationships": bill.relationships,
    }


def main():
    folder = Path(sys.argv[1])
    text = json.dumps(document(folder), indent=2) + "\n"
    (folder / "vread.spdx.json").write_text(text)


if __name__ == "__main__":
    main()
