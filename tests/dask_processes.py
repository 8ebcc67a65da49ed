"""Programs of Dask in folders of their own: a scheduler, workers, and who submits to them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
WORKER = ("--nthreads", "1", "--no-nanny", "--no-dashboard")

Start = Callable[..., "subprocess.Popen[str]"]


@contextmanager
def started(variables: Mapping[str, str]) -> Iterator[Start]:
    """What starts a program of Python in a folder, in a process group of its own; all end with the block."""
    processes = []

    def start(folder: Path, *command: str) -> subprocess.Popen[str]:
        environment = {**os.environ, **variables}
        environment["PYTHONPATH"] = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "output.txt").open("w") as output:
            process = subprocess.Popen(
                [sys.executable, *command],
                cwd=folder,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        processes.append(process)
        return process

    try:
        yield start
    finally:
        for process in processes:
            end(process)


def start_scheduler(start: Start, folder: Path) -> str:
    """Its address."""
    words = ("-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    process, output = start(folder, *words), folder / "output.txt"
    until(lambda: re.search(r"tcp://127\.0\.0\.1:\d+", output.read_text()), process)
    return re.findall(r"tcp://127\.0\.0\.1:\d+", output.read_text())[0]


def start_worker(start: Start, folder: Path, scheduler: str) -> subprocess.Popen[str]:
    return start(folder, "-m", "distributed.cli.dask_worker", scheduler, *WORKER)


def end(process: subprocess.Popen[str]) -> None:
    """As a machine ends that loses its power."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def until(found: Callable[[], object], process: subprocess.Popen[str] | None = None) -> None:
    """Waits until something is found, or a process has ended."""
    while not found():
        assert process is None or process.poll() is None, "it ended before that"
        time.sleep(0.1)
