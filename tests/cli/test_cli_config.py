# SPDX-License-Identifier: GPL-2.0-or-later
"""xl-vread config check: it must report every mistake of a vread.conf with its place, warnings, and
the right exit code."""

import json
from pathlib import Path

import pytest

from tools.peers import Authority

EXAMPLE = Path(__file__).resolve().parents[2] / "xen-backend/control/vread.conf"
WRONG = """[vreadd]
log-levle = info
[xen]
enabled = perhaps
[datanode dn1]
data-dirs = /dfs/data
"""


@pytest.fixture
def conf(tmp_path):
    def write(text):
        path = tmp_path / "vread.conf"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def lines(done):
    assert done.stderr == b""
    return done.stdout.decode().splitlines()


def test_the_example_is_right(xl_vread):
    done = xl_vread("config", "check", EXAMPLE)
    assert (done.returncode, lines(done)) == (0, [f"{EXAMPLE}: ok"])


def test_every_mistake_is_told(xl_vread, conf):
    path = conf(WRONG)
    done = xl_vread("config", "check", path)
    assert done.returncode == 1
    assert lines(done) == [
        f"{path}:2: error: [vreadd] log-levle: info: unknown key: expected one of log-level, "
        "audit, user, control-socket, ivshmem-socket, datanode-files, token-files, "
        "storage-record, read-ahead, cache, handle-memory; did you mean log-level?",
        f"{path}:4: error: [xen] enabled: perhaps: expected yes, no or auto",
        f"{path}:5: error: [datanode dn1]: no image: expected a line image = /path/to/disk.img",
        f"{path}: 3 errors",
    ]


def test_mistakes_as_json(xl_vread, conf):
    path = conf(WRONG)
    done = xl_vread("config", "check", "--json", path)
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert (told["file"], told["ok"], told["warnings"]) == (str(path), False, [])
    assert told["errors"][1] == {
        "file": str(path),
        "line": 4,
        "section": "xen",
        "key": "enabled",
        "value": "perhaps",
        "problem": "expected yes, no or auto",
    }
    assert [e["section"] for e in told["errors"]] == ["vreadd", "xen", "datanode dn1"]
    assert told["errors"][2]["key"] is None


def test_what_is_no_text_is_told_too(xl_vread, conf):
    done = xl_vread("config", "check", "--json", conf(b"[xen]\nenabled = n\xff\n"))
    assert json.loads(done.stdout)["errors"][0]["value"] == "n?"


def test_no_file(xl_vread, tmp_path):
    path = tmp_path / "gone.conf"
    done = xl_vread("config", "check", path)
    assert done.returncode == 1
    assert lines(done) == [
        f"{path}: error: No such file or directory: expected a readable file, see vread.conf(5)",
        f"{path}: 1 error",
    ]


def test_warnings(xl_vread, conf, tmp_path):
    path = conf(
        f"[local]\nsocket = {tmp_path}/s\nallow-datanodes = dn1 db2\npublish-datanodes = *\n"
        f"[datanode dn1]\nimage = qcow2:{tmp_path}/gone.img\nlayout = {tmp_path}/gone.json\n"
        "[datanode db1]\nimage = /dev/null\ndata-dirs = /a\n"
    )
    done = xl_vread("config", "check", path)
    missing = "cannot be opened: No such file or directory"
    assert lines(done) == [
        f"{path}:1: warning: [local] allow-datanodes: dn1 db2: there is no [datanode db2]; "
        "did you mean db1?",
        f"{path}:5: warning: [datanode dn1] image: qcow2:{tmp_path}/gone.img: {missing}: "
        "check the path; vreadd serves the image when it can be opened",
        f"{path}:5: warning: [datanode dn1] layout: {tmp_path}/gone.json: {missing}: "
        "write the layout with vread-provision",
        f"{path}: 3 warnings",
    ]
    assert done.returncode == 0


def test_files_of_datanodes_are_checked_too(xl_vread, conf, tmp_path):
    own = tmp_path / "datanodes" / "dn2.conf"
    own.parent.mkdir()
    path = conf(
        f"[vreadd]\ndatanode-files = {own.parent}\n"
        "[datanode dn1]\nimage = /dev/null\ndata-dirs = /a\n"
    )
    own.write_text("[datanode dn2]\nimage = /nonexistent\ndata-dirs = /a\n")
    done = xl_vread("config", "check", path)
    assert (done.returncode, lines(done)) == (
        0,
        [
            f"{own}:1: warning: [datanode dn2] image: /nonexistent: cannot be opened: No such "
            "file or directory: check the path; vreadd serves the image when it can be opened",
            f"{path}: 1 warning",
        ],
    )
    own.write_text("[datanode dn2]\nimage = x\ndata-dirs = /a\n")
    own.with_name("dn1.conf").write_text("[datanode dn1]\nimage = /x\ndata-dirs = /a\n")
    done = xl_vread("config", "check", path)
    assert done.returncode == 1
    assert lines(done) == [
        f"{own.with_name('dn1.conf')}:1: error: [datanode dn1]: expected each name once; "
        f"{path}:3 has the same name: remove one of them",
        f"{own}:2: error: [datanode dn2] image: x: expected a path that starts with /, or one of "
        "the formats raw, qcow2 or vhd, a colon and a path",
        f"{path}: 2 errors",
    ]


def test_nothing_to_serve(xl_vread, conf):
    done = xl_vread("config", "check", conf("[xen]\nenabled = no\n"))
    assert "warning: nothing to serve: [xen] is off" in lines(done)[0]


def test_guests_of_kvm(xl_vread, conf):
    """They are something to serve, and their lists name datanodes."""
    guest = "[ivshmem g1]\nsocket = /g1\nallow-datanodes = dn1 dn9\npublish-datanodes = dn2\n"
    guest += "unnamed-datanodes = dn3\n"
    datanode = "[datanode dn1]\nimage = /dev/null\ndata-dirs = /a\n"
    path = conf(f"{guest}{datanode}[xen]\nenabled = no\n")
    done = xl_vread("config", "check", path)
    assert done.returncode == 0
    place = f"{path}:1: warning: [ivshmem g1]"
    assert lines(done) == [
        f"{place} allow-datanodes: dn1 dn9: there is no [datanode dn9]; did you mean dn1?",
        f"{place} publish-datanodes: dn2: there is no [datanode dn2]; did you mean dn1?",
        f"{place} unnamed-datanodes: dn3: there is no [datanode dn3]; did you mean dn1?",
        f"{path}: 3 warnings",
    ]


def test_certificates(xl_vread, conf, tmp_path):
    authority = Authority(tmp_path)
    good = authority.host("a", listen="127.0.0.1:7")
    (_, key), (_, other) = authority.certificate("a"), authority.certificate("b")
    assert len(lines(xl_vread("config", "check", conf(good)))) == 1
    for text, said in (
        (good.replace("name = a", "name = z"), "expected a certificate for z"),
        (good.replace(".pem\nkey", ".gone\nkey"), "expected a readable file with a certificate"),
        (good.replace(str(key), str(other)), f"key: {other}: "),
    ):
        done = xl_vread("config", "check", path := conf(text))
        assert done.returncode == 0
        assert lines(done)[0].startswith(f"{path}:1: warning: [peers] ")
        assert said in lines(done)[0]
        assert lines(done)[0].endswith("; vreadd does not start with this configuration")
