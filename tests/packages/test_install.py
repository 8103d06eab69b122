# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the files of `make install` and of debian/, as far as possible without making
packages."""

import itertools
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.debian_packages import TOOLS

REPOSITORY = Path(__file__).resolve().parents[2]
VREADD = REPOSITORY / "xen-backend/control/vreadd.service"
CHANGELOG = REPOSITORY / "debian/changelog"
SERVICES = {  # unit: greatest exposure that it may have, by `systemd-analyze security`, 0 to 10
    VREADD: 2.1,
    REPOSITORY / "tools/xl-vread/vread-metrics.service": 1.5,
}
needs_analyze = pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed"
)


def version():
    text = (REPOSITORY / "xen-backend/base/version.h").read_text()
    return re.search(r'VREAD_VERSION "(.*)"', text)[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    command = ["make", "-C", REPOSITORY, "install", f"DESTDIR={folder}", "NO_SETUP=1"]
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, done.stdout
    return folder


def pages(folder):
    """{name(section)} of all man pages in the folder."""
    found = (folder / "usr/share/man").glob("man*/*")
    return {f"{path.stem}({path.suffix[1:]})" for path in found}


def test_each_program_has_a_manual(installed):
    programs = [
        path
        for folder in ("usr/bin", "usr/sbin", "usr/libexec/vread")
        for path in (installed / folder).iterdir()
    ]
    assert len(programs) >= 4
    for path in programs:
        assert pages(installed) & {f"{path.name}({section})" for section in (1, 8)}, path


def test_bash_completes_each_program(installed):
    programs = {
        path.name for folder in ("bin", "sbin") for path in (installed / "usr" / folder).iterdir()
    }
    completions = installed / "usr/share/bash-completion/completions"
    assert {path.name for path in completions.iterdir()} == programs


def test_each_call_and_the_device_have_a_manual(installed):
    symbols = (REPOSITORY / "hdfs-native/libvread/libvread.map").read_text()
    calls = re.findall(r"^\t(vread_\w+);", symbols, re.M)
    assert len(calls) > 15
    wanted = {f"{call}(3)" for call in calls}
    wanted |= {"libvread(3)", "vread(4)", "vread.conf(5)", "vread-layout(5)", "vread-xenstore(7)"}
    assert wanted <= pages(installed)


def test_the_library_has_its_name_and_its_symbols(installed):
    """Programs are linked with these: the name of the library, and versions of its symbols."""
    (library,) = installed.glob("usr/lib/*/libvread.so.1")

    def readelf(option):
        command = ["readelf", "--wide", option, library]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert "Library soname: [libvread.so.1]" in readelf("--dynamic")
    defined = re.findall(r" FUNC +GLOBAL +DEFAULT +\d+ (\S+)", readelf("--dyn-syms"))
    script = (REPOSITORY / "hdfs-native/libvread/libvread.map").read_text()
    wanted = []
    for version, names in re.findall(r"^(LIBVREAD_\d) {(.*?)^}", script, re.M | re.S):
        for call in re.findall(r"^\t(vread_\w+);", names, re.M):
            kept = f"\t{call}_sized;" in script  # for programs that are linked already
            wanted.append(f"{call}{'@' if kept else '@@'}{version}")
    assert sorted(defined) == sorted(wanted)


def test_manuals_refer_to_manuals_that_are_there(installed):
    known = pages(installed)
    for path in (installed / "usr/share/man").glob("man*/*"):
        for name, section in re.findall(r"^\.Xr (\S+) (\d)", path.read_text(), re.M):
            if "vread" in name:
                assert f"{name}({section})" in known, path


def test_the_manual_of_the_device_has_its_parameters_and_requests():
    page = (REPOSITORY / "linux-frontend/vread.4").read_text()
    module = (REPOSITORY / "linux-frontend/core/params.h").read_text()
    header = (REPOSITORY / "linux-frontend/uapi/vread_ioctl.h").read_text()
    parameters = re.findall(r"module_param_named\((\w+),", module)
    requests = re.findall(r"#define (VREAD_IOC_\w+) _IO", header)
    assert len(parameters) == 3 and len(requests) > 5
    for name in parameters:
        assert f".It Cm {name}\n" in page
    for name in requests:
        assert f".It Dv {name}\n" in page


def test_the_module_is_of_this_version(installed):
    conf = installed / f"usr/src/vread-{version()}/dkms.conf"
    assert f'PACKAGE_VERSION="{version()}"' in conf.read_text()


def test_a_configuration_that_is_there_is_kept(installed):
    conf = installed / "etc/vread/vread.conf"
    assert conf.read_text() == (REPOSITORY / "xen-backend/control/vread.conf").read_text()


def test_the_packages_are_of_this_version():
    check = REPOSITORY / "debian/check-version.sh"
    done = subprocess.run([check, version()], cwd=REPOSITORY, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run([check, "99.0"], cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 1
    assert "xen-backend/base/version.h of 99.0" in done.stderr


def os_release(folder, text):
    path = folder / "os-release"
    path.write_text(f'PRETTY_NAME="A system"\n{text}')
    return path


def changelog(release):
    command = [REPOSITORY / "debian/changelog-of-release.sh", release, CHANGELOG]
    return subprocess.run(command, capture_output=True, text=True)


def of_release(number, name, folder):
    """The lines of the changelog in the packages of a release of Debian."""
    text = f"ID=debian\nVERSION_ID={number}\nVERSION_CODENAME={name}\n"
    done = changelog(os_release(folder, text))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_each_release_of_debian_has_versions_of_its_own(tmp_path):
    """They sort as the releases do, and between the versions of this release and the next one."""
    versions = [version()]
    for number, name in ((12, "bookworm"), (13, "trixie")):
        versions.append(f"{version()}+deb{number}u1")
        first, *others = of_release(number, name, tmp_path)
        assert first == f"vread ({versions[-1]}) {name}; urgency=medium"
        assert others == CHANGELOG.read_text().splitlines()[1:]
    versions += [f"{version()}.1"]
    for lower, higher in itertools.pairwise(versions):
        command = ["dpkg", "--compare-versions", lower, "lt", higher]
        assert subprocess.run(command).returncode == 0, (lower, higher)


@pytest.mark.parametrize("text", ["ID=debian\n", "ID=ubuntu\nVERSION_ID=24.04\n"])
def test_no_packages_of_another_system(text, tmp_path):
    path = os_release(tmp_path, text)
    done = changelog(path)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{path} is of A system: make the packages on Debian 12 or 13" in done.stderr


def test_the_page_says_what_making_packages_on_debian_13_needs():
    page = (REPOSITORY / "docs/install.md").read_text()
    assert f"\n    apt install {' '.join(TOOLS)}\n    apt build-dep .\n" in page


def needed_xen(folder, shlibs_local):
    """What Debian's tool makes of the libraries of Xen that the daemon and the command need."""
    (folder / "debian").mkdir()
    shutil.copy(REPOSITORY / "debian/control", folder / "debian")
    if shlibs_local:
        shutil.copy(REPOSITORY / "debian/shlibs.local", folder / "debian")
    programs = [REPOSITORY / "build/release" / name for name in ("vreadd", "xl-vread")]
    done = subprocess.run(
        ["dpkg-shlibdeps", "-O", *programs], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return sorted(re.findall(r"libxen\w+[\d.]*(?: \([^)]*\))?", done.stdout))


def test_any_build_of_the_release_of_xen_will_do(tmp_path):
    """Debian's security suite has later builds of Xen than the release, and a host may be without
    that suite.  The packages must not need the very build that they were made with."""
    needed = needed_xen(tmp_path, shlibs_local=True)
    (misc,) = [text for text in needed if text.startswith("libxenmisc")]
    assert re.fullmatch(r"libxenmisc4\.\d+", misc)
    assert needed[:2] == ["libxenevtchn1 (>= 4.14)", "libxengnttab1 (>= 4.14)"]
    assert not [text for text in needed if "+" in text]


def test_what_is_used_of_xen_is_in_any_build_of_the_release():
    """The reason why debian/shlibs.local is right: all symbols are of the first version."""
    first = {"xenevtchn": r"VERS_1\.0", "xengnttab": r"VERS_1\.0", "xlu": r"VERS_4\.\d+\.0"}
    for name in ("vreadd", "xl-vread"):
        command = ["objdump", "-T", REPOSITORY / "build/release" / name]
        table = subprocess.check_output(command, text=True)
        used = re.findall(r"\(?(VERS_[\d.]+)\)? +((xenevtchn|xengnttab|xlu)_\w+)$", table, re.M)
        assert len(used) >= 6
        for symbol_version, symbol, library in used:
            assert re.fullmatch(first[library], symbol_version), symbol


@pytest.mark.parametrize("name", ["backend", "tools", "hdfs", "frontend-dkms", "bench"])
def test_each_package_has_the_changes_for_operators(name):
    docs = (REPOSITORY / f"debian/vread-{name}.docs").read_text().splitlines()
    assert "CHANGELOG.md" in docs
    assert all((REPOSITORY / path).exists() for path in docs)


def local(unit, folder):
    """A copy of the unit with the paths of built programs and without manuals, so that programs
    installed on this machine do not matter."""
    text = unit.read_text()
    built = REPOSITORY / "build/release"
    text = re.sub(r"^(Exec(?:Start|Reload)=)\S+/", rf"\1{built}/", text, flags=re.M)
    made = folder / unit.name
    made.write_text(re.sub(r"^Documentation=.*\n", "", text, flags=re.M))
    return made


def analyze(unit, *options):
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", *options, unit]
    return subprocess.run(command, capture_output=True, text=True)


@needs_analyze
@pytest.mark.parametrize("service", SERVICES, ids=lambda path: path.stem)
def test_a_service_is_understood_and_confined(service, tmp_path):
    unit = local(service, tmp_path)
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    done = analyze(unit, f"--threshold={SERVICES[service] * 10:.0f}")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_service_may_open_images():
    """Under RestrictSUIDSGID=, openat2() is ENOSYS, and no image could be opened."""
    assert "\nRestrictSUIDSGID=" not in VREADD.read_text()


@needs_analyze
def test_the_page_has_a_reason_for_each_exposure(tmp_path):
    """docs/security.md lists what `systemd-analyze security` still counts against vreadd, and no
    more."""
    page = (REPOSITORY / "docs/security.md").read_text()
    rows = re.findall(r"^\| `([^`]+)` \| ([0-9.]+) \| [A-Z].* \|$", page, re.M)
    listed = [(name.replace(r"\|", "|"), exposure) for name, exposure in rows]
    lines = json.loads(analyze(local(VREADD, tmp_path), "--json=short").stdout)
    counted = [(line["name"], line["exposure"]) for line in lines if line["exposure"]]
    assert sorted(listed) == sorted(counted)


def test_the_timer_is_understood_and_has_its_service(installed, tmp_path):
    units = installed / "lib/systemd/system"
    local(units / "vread-metrics.service", tmp_path)
    timer = local(units / "vread-metrics.timer", tmp_path)
    done = subprocess.run(["systemd-analyze", "verify", timer], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_timer_writes_where_the_service_may(installed):
    """The service's command must exist, and must write where the unit's ReadWritePaths= allows."""
    text = (installed / "lib/systemd/system/vread-metrics.service").read_text()
    program, *words = re.search(r"^ExecStart=(.*)$", text, re.M)[1].split()
    output = Path(words[words.index("--output") + 1])
    for key in ("ReadWritePaths", "ConditionPathIsDirectory"):
        assert re.search(rf"^{key}=-?(.*)$", text, re.M)[1] == str(output.parent)
    command = [installed / program.lstrip("/"), *words[:-2], "--output", installed / "vread.prom"]
    done = subprocess.run([*command, "--socket", installed / "nobody"], capture_output=True)
    accepted = re.search(r"^SuccessExitStatus=(\d+)$", text, re.M)[1]
    assert done.returncode == int(accepted)
    assert "\nvread_up 0\n" in (installed / "vread.prom").read_text()
