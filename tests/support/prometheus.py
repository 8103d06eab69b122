# SPDX-License-Identifier: GPL-2.0-or-later
"""Prometheus and its node_exporter on loopback, of Debian's packages, for tests of what `xl-vread
metrics` writes.

    with NodeExporter(folder) as exporter, Prometheus(tmp_path, {"host-a": exporter}) as prometheus:
        (folder / "vread.prom").write_text("vread_up 1\\n")
        eventually(lambda: prometheus.query("vread_up"))
"""

import json
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from tests.support.peers import free_address
from tests.support.waiting import eventually

# A scrape may take as long as the interval. A scrape that fails on a busy machine is repeated.
CONFIG = """
global: {scrape_interval: 1s}
scrape_configs:
  - job_name: node
    static_configs:
"""


class Service:
    """A program that answers HTTP requests at self.address until the end of the with block."""

    def __init__(self, log_path, *command):
        self.log_path = log_path
        self.command = command
        self.process = None

    def __enter__(self):
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            eventually(self.is_ready, what=self.log)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def log(self):
        return self.log_path.read_text(errors="replace")[-4000:]

    def is_ready(self):
        assert self.process.poll() is None, self.log()
        try:
            self.get(self.ready_path)
        except (urllib.error.URLError, OSError):
            return False
        return True

    def get(self, path, **parameters):
        query = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(f"http://{self.address}{path}?{query}", timeout=120) as answer:
            return answer.read()


class NodeExporter(Service):
    """Gives Prometheus the files *.prom of a folder, and nothing of the machine."""

    ready_path = "/metrics"

    def __init__(self, folder):
        self.address = free_address()
        super().__init__(
            folder / "node-exporter.log",
            "prometheus-node-exporter",
            f"--web.listen-address={self.address}",
            "--collector.disable-defaults",
            "--collector.textfile",
            f"--collector.textfile.directory={folder}",
        )


class Prometheus(Service):
    """exporters: {name: NodeExporter}; the label `instance` of a sample is the name."""

    ready_path = "/-/ready"

    def __init__(self, folder, exporters):
        self.address = free_address()
        config = folder / "prometheus.yml"
        config.write_text(
            CONFIG
            + "".join(
                f"      - {{targets: ['{exporter.address}'], labels: {{instance: {name}}}}}\n"
                for name, exporter in exporters.items()
            )
        )
        super().__init__(
            folder / "prometheus.log",
            "prometheus",
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'prometheus-data'}",
            f"--web.listen-address={self.address}",
            "--log.level=warn",
        )

    def ask(self, path, **parameters):
        try:
            answer = json.loads(self.get(f"/api/v1/{path}", **parameters))
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters}: {error.read().decode()}") from error
        assert answer["status"] == "success", (parameters, answer)
        return answer["data"]

    def query(self, expression):
        """[(labels, value)] of the expression now.  An expression that does not parse is an
        AssertionError."""
        result = self.ask("query", query=expression)["result"]
        return [(series["metric"], float(series["value"][1])) for series in result]

    def label_values(self, metric, label):
        return self.ask(f"label/{label}/values", **{"match[]": metric})
