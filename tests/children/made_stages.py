"""Stages for tests, and calls of workers, with functions of `fake_stages`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.builder.engine.worker import run_worker


def stage_in(root: Path, name: str, function: str = "write", /, **fields: Any) -> Stage:
    """Return the stage `cpu.NAME` with its files below `root`. fields: other fields of the stage."""
    made: dict[str, Any] = {
        "name": f"cpu.{name}",
        "doc": f"write {name}",
        "store": Store(root / ".store"),
        "folder": root / "seen",
        "work": root / f"{name}-work",
        "function": f"fake_stages:{function}",
        "outputs": ("out.txt",),
        "timeout_s": 60,
    }
    return Stage(**(made | fields))


def call_in(
    out: Path,
    function: str,
    timeout_s: float = 60,
    beat: Callable[[float], None] = lambda elapsed: None,
    preload: tuple[str, ...] = ("fake_stages",),
    **arguments: Any,
) -> float:
    """Call a function in a worker, as the stage `cpu.stage`, with its outputs and log in `out`."""
    job: dict[str, Any] = {
        "function": f"fake_stages:{function}",
        "inputs": {},
        "out": str(out),
        "root": str(out / ".store"),
        "cache": None,
        "arguments": arguments,
        "trace": os.devnull,
    }
    return run_worker(job, out / "a.log", timeout_s, "cpu.stage", beat, preload)


def gone(pid: int) -> bool:
    """Return whether a process ends within 10 s. A zombie has ended."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False
