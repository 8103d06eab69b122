# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures the wire between two emulated hosts without vRead, from dom0 to dom0, for remote.py.

    wire = WireBench(sender, receiver, sender_address, receiver_address)
    wire.tcp(size); wire.tls(size, cipher, files); wire.rdma(size)      # {"bytes", "seconds"}

tcp() is a plain stream from memory to memory (blockstream), tls() one over TLS 1.3 (tlsstream) with
the processor's instructions that vreadd uses.  rdma() is RDMA WRITEs (ib_write_bw).
ib_write_bw polls all the time until the writes are done, so the sender's CPU time says little.
"""

import json
import time

from tools.bench.suite import BenchError
from tools.lab.deployment import OPENSSL_CPU
from tools.lab.paths import REPOSITORY

PROGRAMS = {name: f"/usr/local/bin/{name}" for name in ("blockstream", "tlsstream")}
STREAM_PORT, TLS_PORT, RDMA_PORT = 9866, 9867, 18515
MESSAGE = 1 << 20
MIB = 1 << 20
TRIES = 10
START_TIMEOUT, RUN_TIMEOUT = 60.0, 600.0


class WireBench:
    def __init__(self, sender, receiver, sender_address, receiver_address, variant="release"):
        """Hosts, and the addresses of their dom0s on the wire."""
        self._sender, self._receiver = sender, receiver
        self._addresses = sender_address, receiver_address
        for host in (sender, receiver):
            for name, program in PROGRAMS.items():
                host.put(REPOSITORY / "build" / variant / name, program)

    def tcp(self, size, measure=lambda run: run()):
        """measure: called with the function that moves the bytes."""
        program = PROGRAMS["blockstream"]
        serve = f"{program} serve {STREAM_PORT} {size}"
        return self._stream(serve, f"{program} fetch {self._addresses[0]} {STREAM_PORT}", measure)

    def tls(self, size, cipher, files, measure=lambda run: run()):
        """cipher: OpenSSL's name.  files: paths of a certificate and its key on the sender."""
        program = PROGRAMS["tlsstream"]
        with_cpu = f"env OPENSSL_ia32cap={OPENSSL_CPU} {program}"
        serve = f"{with_cpu} serve {TLS_PORT} {size} {' '.join(files)} {cipher}"
        fetch = f"{with_cpu} fetch {self._addresses[0]} {TLS_PORT} {cipher}"
        return self._stream(serve, fetch, measure)

    def _stream(self, serve, fetch, measure):
        server = self._sender.popen(f"exec {serve}")
        server.wait_output("listening", START_TIMEOUT)
        try:
            return measure(
                lambda: json.loads(self._receiver.run(fetch, RUN_TIMEOUT).check().stderr)
            )
        finally:
            server.kill()
            server.wait(START_TIMEOUT)

    def rdma(self, size, measure=lambda run: run()):
        """Sends as many whole messages as there are in size.  On a busy machine ib_write_bw may
        fail to measure the processor's clock and print a rate of 0; then it runs again."""
        for _ in range(TRIES):
            try:
                return self._rdma(size // MESSAGE, measure)
            except ZeroDivisionError:
                continue
        raise BenchError(f"ib_write_bw reported a rate of 0 in {TRIES} runs")

    def _rdma(self, count, measure):
        command = f"ib_write_bw -d rxe0 -x 1 -F -p {RDMA_PORT} -s {MESSAGE} -n {count}"
        server = self._receiver.popen(f"exec {command}", timeout=RUN_TIMEOUT)
        self._wait_listening(server)
        try:
            return measure(lambda: self._written(f"{command} {self._addresses[1]}", count))
        finally:
            server.wait(START_TIMEOUT).check()

    def _wait_listening(self, server):
        """Waits until the port listens: ib_write_bw prints only when it ends."""
        deadline = time.monotonic() + START_TIMEOUT
        while self._receiver.run(f"grep -q ':{RDMA_PORT:04X} 0' /proc/net/tcp*").rc != 0:
            if not server.running or time.monotonic() > deadline:
                raise BenchError(f"ib_write_bw does not listen: {server.stderr.decode()}")
            time.sleep(0.2)

    def _written(self, command, count):
        said = self._sender.run(command, RUN_TIMEOUT).check().stdout.decode()
        for words in map(str.split, said.splitlines()):
            if words[:2] == [str(MESSAGE), str(count)]:
                # bytes, iterations, peak and average in MiB/s
                size = MESSAGE * count
                return {"bytes": size, "seconds": size / MIB / float(words[3])}
        raise BenchError(f"{command}: no bandwidth in its output:\n{said}")
