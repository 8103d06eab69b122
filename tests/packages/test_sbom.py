# SPDX-License-Identifier: GPL-2.0-or-later
"""The bill of materials that `make deb` writes, for packages that are made here and are empty."""

import hashlib
import json
import re
import subprocess
import sys

import pytest

from tools.vreadd import REPOSITORY

SCRIPT = REPOSITORY / "tools/sbom.py"
CONTROL = (REPOSITORY / "debian/control").read_text()
NAMES = sorted(re.findall(r"^Package: (.*)$", CONTROL, re.M))
VERSION = "0.1.0+deb12u1"
COMMON = "libc6 (>= 2.34), adduser"
# The fields that SPDX 2.3 wants, and those without which the bill says nothing.
OF_DOCUMENT = {"spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"}
OF_PACKAGE = {"name", "SPDXID", "downloadLocation", "filesAnalyzed", "licenseDeclared"}
OF_RELATIONSHIP = {"spdxElementId", "relationshipType", "relatedSpdxElement"}
KINDS = {"DESCRIBES", "DEPENDS_ON", "OPTIONAL_DEPENDENCY_OF", "PROVIDED_DEPENDENCY_OF"}
LICENCES = {"Apache-2.0", "GPL-2.0-only", "GPL-2.0-or-later", "MIT", "Linux-syscall-note"}


def make_package(folder, name, version=VERSION, **fields):
    control = {"Package": name, "Version": version, "Architecture": "all"} | fields
    control |= {"Maintainer": "vRead <maintainers@vread.example>", "Description": "a test"}
    tree = folder / "trees" / name
    (tree / "DEBIAN").mkdir(parents=True)
    text = "".join(f"{key}: {value}\n" for key, value in control.items())
    (tree / "DEBIAN/control").write_text(text)
    made = folder / f"{name}_{version}_all.deb"
    subprocess.run(
        ["dpkg-deb", "-Znone", "--root-owner-group", "--build", tree, made],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def write_bill(folder):
    return subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deb")
    for name in NAMES:
        needs = {"Depends": COMMON}
        if name == "libvread-dev":
            needs = {"Pre-Depends": "dpkg", "Depends": f"libvread1 (= {VERSION})"}
        if name == "vread-frontend-dkms":
            needs["Recommends"] = "linux-headers-generic | linux-headers-amd64"
        make_package(folder, name, **needs)
    make_package(folder, "libvread1-dbgsym", Depends=f"libvread1 (= {VERSION})")
    done = write_bill(folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


@pytest.fixture(scope="module")
def bill(folder):
    return json.loads((folder / "vread.spdx.json").read_text())


def related(bill, kind):
    """{(one, other): comment} of the relationships of a kind."""
    return {
        (found["spdxElementId"], found["relatedSpdxElement"]): found.get("comment")
        for found in bill["relationships"]
        if found["relationshipType"] == kind
    }


def test_it_has_what_spdx_wants(bill):
    assert bill.keys() >= OF_DOCUMENT
    assert (bill["spdxVersion"], bill["dataLicense"]) == ("SPDX-2.3", "CC0-1.0")
    assert bill["name"] == f"vread-{VERSION}"
    assert re.fullmatch(r"https://\S+[^#]", bill["documentNamespace"])
    made = bill["creationInfo"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", made["created"])
    assert made["creators"]
    assert all(re.match(r"(Person|Organization|Tool): ", who) for who in made["creators"])
    ids = [package["SPDXID"] for package in bill["packages"]] + [bill["SPDXID"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", found) for found in ids)
    for package in bill["packages"]:
        assert package.keys() >= OF_PACKAGE
        assert package["filesAnalyzed"] is False  # else it must list its files
    for found in bill["relationships"]:
        assert found.keys() >= OF_RELATIONSHIP
        assert found["relationshipType"] in KINDS
        assert {found["spdxElementId"], found["relatedSpdxElement"]} <= set(ids)


def test_it_describes_each_package_and_nothing_else(bill, folder):
    described = {other for _, other in related(bill, "DESCRIBES")}
    ours = [package for package in bill["packages"] if package["SPDXID"] in described]
    assert sorted(package["name"] for package in ours) == NAMES
    for package in ours:
        data = (folder / package["packageFileName"]).read_bytes()
        sum_ = {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}
        assert package["checksums"] == [sum_]
        assert package["versionInfo"] == VERSION
        words = set(re.findall(r"[\w.+-]+", package["licenseDeclared"]))
        assert words - {"AND", "OR", "WITH"} <= LICENCES
    declared = {package["name"]: package["licenseDeclared"] for package in ours}
    assert declared["libvread1"] == "Apache-2.0 AND MIT"
    assert declared["vread-frontend-dkms"].startswith("GPL-2.0-only AND ")
    comments = {package["name"]: package.get("licenseComments") for package in ours}
    assert comments["vread-hdfs"] == "Documents: GPL-2.0-or-later"
    assert comments["vread-frontend-dkms"] == "Documents: GPL-2.0-or-later AND GPL-2.0-only"
    assert comments["libvread1"] == "Documents: GPL-2.0-or-later"


def test_what_packages_need(bill):
    needed = related(bill, "DEPENDS_ON")
    library = "SPDXRef-Package-libvread1"
    assert needed[library, "SPDXRef-Debian-libc6"] == "libc6 (>= 2.34)"
    assert needed["SPDXRef-Package-libvread-dev", library] == f"libvread1 (= {VERSION})"
    assert needed["SPDXRef-Package-libvread-dev", "SPDXRef-Debian-dpkg"] == "dpkg"
    assert len(needed) == 2 * len(NAMES)
    (headers, by), comment = related(bill, "OPTIONAL_DEPENDENCY_OF").popitem()
    assert (headers, by) == ("SPDXRef-Debian-linux-headers-generic",
                             "SPDXRef-Package-vread-frontend-dkms")  # fmt: skip
    assert comment == "linux-headers-generic | linux-headers-amd64"
    packages = {package["SPDXID"]: package for package in bill["packages"]}
    (reference,) = packages["SPDXRef-Debian-libc6"]["externalRefs"]
    assert reference["referenceLocator"] == "pkg:deb/debian/libc6"


def test_hadoop_is_provided(bill):
    provided = related(bill, "PROVIDED_DEPENDENCY_OF")
    assert {other for _, other in provided} == {"SPDXRef-Package-vread-hdfs"}
    packages = {package["SPDXID"]: package for package in bill["packages"]}
    found = {packages[one]["externalRefs"][0]["referenceLocator"] for one, _ in provided}
    module = (REPOSITORY / "hdfs-native/java/pom.xml").read_text()
    version = re.search("<hadoop.version>(.*)</", module)[1]
    assert found == {
        f"pkg:maven/org.apache.hadoop/hadoop-{name}@{version}"
        for name in ("common", "hdfs", "hdfs-client")
    }


def test_equal_packages_make_an_equal_bill(folder):
    before = (folder / "vread.spdx.json").read_bytes()
    assert write_bill(folder).returncode == 0
    assert (folder / "vread.spdx.json").read_bytes() == before


def test_packages_that_it_does_not_know(tmp_path):
    assert "run make deb" in write_bill(tmp_path).stderr
    make_package(tmp_path, "vread-other")
    done = write_bill(tmp_path)
    assert done.returncode == 1
    assert f"vread-other_{VERSION}_all.deb: tools/sbom.py does not know its sources" in done.stderr
