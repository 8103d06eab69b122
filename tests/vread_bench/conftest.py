# SPDX-License-Identifier: GPL-2.0-or-later
"""The fixture of the tests of vread-bench: `bench`, a folder with a spec, a target whose client is
a stub, and the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
STUB = Path(__file__).with_name("stub_client.py")

SPEC = """\
name: small
seed: 7
rounds: 3
size: 4MiB
cells:
  - targets: here
    ways: [stock, vread]
    workloads: [sequential, re-read]
    requests: [1MiB]
    loads: [2vms, 4vms]
    places: local
    images: raw
"""
TARGETS = """\
targets:
  here:
    kind: {kind}
    hosts:
      me: {host}
    client:
      host: me
      folder: {folder}/client
      command: exec {python} -S -E {stub} {folder}
{keep}    ways:
      stock: {{dfs.client.read.shortcircuit: "false"}}
      vread: {{io.vread.endpoint: /dev/vread}}
    loads:
      2vms:
      4vms:
        enter: [{{host: me, command: echo enter >>{folder}/states}}]
        leave: [{{host: me, command: echo leave >>{folder}/states}}]
    places:
      local: {{files: /bench}}
    images:
      raw:
    cpu:
      datanode: [{{host: me, command: "echo $(cat {folder}/cpu || echo 0)e-3"}}]
"""


class Bench:
    def __init__(self, folder):
        self.folder = folder
        self.spec, self.targets = folder / "spec.yaml", folder / "targets.yaml"
        self.out = folder / "out.json"
        self.journal = folder / "out.json.journal"
        self.spec.write_text(SPEC)
        self.write_targets()

    def write_targets(self, host="{by: local}", kind="bare", keep=False):
        text = TARGETS.format(
            host=host,
            kind=kind,
            keep="      keep: yes\n" if keep else "",
            folder=self.folder,
            python=sys.executable,
            stub=STUB,
        )
        self.targets.write_text(text)

    def command(self, *words):
        return [sys.executable, "-m", "tools.vread_bench", *map(str, words)]

    def run_words(self):
        return self.command("run", "--targets", self.targets, "--out", self.out, self.spec)

    def run(self):
        return self.call(*self.run_words()[3:])

    def call(self, *words):
        return subprocess.run(
            self.command(*words), cwd=REPOSITORY, capture_output=True, text=True, timeout=600
        )

    def start(self):
        return subprocess.Popen(
            self.run_words(), cwd=REPOSITORY, stderr=subprocess.PIPE, text=True, env=os.environ
        )

    def result(self):
        return json.loads(self.out.read_text())

    def records(self):
        return [json.loads(line) for line in self.journal.read_text().splitlines()]

    def starts(self):
        return len((self.folder / "starts").read_text().splitlines())

    def calls(self):
        return (self.folder / "calls").read_text().splitlines()


@pytest.fixture
def make_bench(tmp_path):
    """Makes a Bench in a new folder each time."""

    def make(name):
        folder = tmp_path / name
        folder.mkdir()
        return Bench(folder)

    return make


@pytest.fixture
def bench(make_bench):
    return make_bench("bench")
