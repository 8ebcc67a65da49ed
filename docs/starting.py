"""Measures how long a server takes to answer /health, and to be ready for a text.

.venv/bin/python docs/starting.py [BUNDLE]
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from kokoro_tvm.bench.load.servers import Server, free_port

STARTS = 8
PATIENCE = 60.0  # seconds


def start(bundle: str, log: Path) -> tuple[float, float, float]:
    """Seconds from the start of a process until it answers /health, those that it computed until then, and
    seconds until it is ready."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-c", "from kokoro_tvm.cli import main; main()"]
    command += ["serve", "--bundle", bundle, "--port", str(port)]
    started = time.perf_counter()
    with log.open("wb") as errors, subprocess.Popen(command, stderr=errors) as process:
        try:
            answered = until(f"{url}/health", started)
            computed = Server(url, process.pid).cpu
            return answered, math.nan if computed is None else computed, until(f"{url}/ready", started)
        finally:
            process.terminate()


def until(url: str, started: float) -> float:
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return time.perf_counter() - started
        except (urllib.error.URLError, OSError):  # nobody listens, or status 503
            if time.perf_counter() - started > PATIENCE:
                raise SystemExit(f"{url} was not answered within {PATIENCE:.0f} s.") from None
            time.sleep(0.005)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        bundle = (sys.argv[1:] or ["artifacts/cpu"])[0]
        times = [start(bundle, Path(folder) / "log") for _ in range(STARTS + 1)][1:]
    for what, seconds in zip(
        ("/health", "computing until then", "/ready"), zip(*times, strict=True), strict=True
    ):
        spread = f"{min(seconds):.2f} to {max(seconds):.2f}"
        print(f"{what}: {median(seconds):.2f} s, the median of {STARTS} starts ({spread})")
