"""Servers as processes: ours by its command, a peer's engine behind a plain server."""

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

from kokoro_tvm.tools.bench.child import OURS, MeasuredProcessError, environment, last_words, python_module
from kokoro_tvm.tools.bench.serve import resident_bytes
from kokoro_tvm.tools.bench.systems import System

__all__ = ["BenchServer", "command", "free_port", "started"]

_PATIENCE = 300.0  # seconds that a model may take to load


@dataclass(frozen=True)
class BenchServer:
    """A server that answers."""

    url: str
    pid: int

    @property
    def speech(self) -> str:
        """The address that texts are sent to."""
        return f"{self.url}/v1/audio/speech"

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Its process is stopped: threads that wait by spinning would disturb who is measured."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    @property
    def memory(self) -> int | None:
        """Bytes that its process has resident; None where the system does not tell."""
        return resident_bytes("VmRSS", self.pid)

    @property
    def cpu(self) -> float | None:
        """Seconds that its process has computed, on all cores; None where the system does not tell."""
        stat = Path(f"/proc/{self.pid}/stat")
        if not stat.is_file():
            return None
        fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def command(system: System, bundle: Path, port: int, folder: Path) -> list[str]:
    """What starts the server of a system; bundle: whose text front end a peer has."""
    if system.ours:
        return [*OURS, "serve", "--bundle", system.engine.path, "--port", str(port)]
    request = folder / f"{system.name}.json"
    wanted = {"engine": vars(system.engine), "bundle": str(bundle), "port": port}
    request.write_text(json.dumps(wanted), encoding="utf-8")
    return [*python_module("kokoro_tvm.tools.bench.load.peer"), str(request)]


@contextmanager
def started(system: System, bundle: Path, folder: Path) -> Iterator[BenchServer]:
    """A system's server while it is needed. Raises ChildError where it never answers."""
    port, log = free_port(), folder / f"{system.name.replace('/', '-')}.log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            command(system, bundle, port, folder),
            stdout=errors,
            stderr=errors,
            env=environment(system.engine.threads),
        ) as process,
    ):
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(process, f"{url}/health", log)
            yield BenchServer(url, process.pid)
        finally:
            process.kill()


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    limit = time.monotonic() + _PATIENCE
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            if process.poll() is not None:
                raise MeasuredProcessError(f"the server {last_words(process.wait(), log)}") from None
            if time.monotonic() > limit:
                raise MeasuredProcessError(
                    f"the server did not answer within {_PATIENCE:.0f} s; see {log}"
                ) from None
            time.sleep(0.05)


def free_port() -> int:
    """A port of the loopback address that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
