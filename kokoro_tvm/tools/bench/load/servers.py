"""Servers as processes: `kokoro-tvm serve` for a bundle, a plain server around a peer's engine."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from kokoro_tvm.tools.bench.child import OURS, MeasuredProcessError, environment, how_it_ended, python_module
from kokoro_tvm.tools.bench.systems import System

_START_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class BenchServer:
    """A running server."""

    url: str
    pid: int

    @property
    def speech_url(self) -> str:
        """Address of the speech route."""
        return f"{self.url}/v1/audio/speech"

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the process within the block, so that spinning threads do not disturb a measurement."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    @property
    def memory(self) -> int:
        """Resident memory, bytes."""
        return int(psutil.Process(self.pid).memory_info().rss)

    @property
    def cpu(self) -> float:
        """CPU time on all cores, s."""
        times = psutil.Process(self.pid).cpu_times()
        return float(times.user + times.system)


def server_command(system: System, bundle: Path, port: int) -> list[str]:
    """Return the command of a system's server; `bundle` has the text front end of a peer."""
    if system.ours:
        return [*OURS, "serve", "--bundle", system.engine.path, "--port", str(port)]
    request = {"engine": vars(system.engine), "bundle": str(bundle), "port": port}
    return [*python_module("kokoro_tvm.tools.bench.load.peer"), json.dumps(request)]


@contextmanager
def run_server(system: System, bundle: Path, folder: Path) -> Iterator[BenchServer]:
    """Run a system's server within the block. Raises MeasuredProcessError if it does not answer."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    log = folder / f"{system.name.replace('/', '-')}.log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            server_command(system, bundle, port),
            stdout=errors,
            stderr=errors,
            env=environment(system.engine.threads),
        ) as process,
    ):
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for_health(process, f"{url}/health", log)
            yield BenchServer(url, process.pid)
        finally:
            process.kill()


def _wait_for_health(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Wait until a server answers. Raises MeasuredProcessError if it ends or takes too long."""
    deadline = time.monotonic() + _START_TIMEOUT_S
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            if process.poll() is not None:
                raise MeasuredProcessError(f"the server {how_it_ended(process.wait(), log)}") from None
            if time.monotonic() > deadline:
                raise MeasuredProcessError(
                    f"the server did not answer within {_START_TIMEOUT_S:.0f} s; see {log}"
                ) from None
            time.sleep(0.05)
