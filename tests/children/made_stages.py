"""Stages of tests, and calls of children: functions of `fake_stages`, each in a process of its own."""

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
    """`cpu.NAME`, whose store, outputs and log are below `root`; fields: what is otherwise."""
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
    """Calls a function with the folder `out`, where its log is as well, as that of the stage `cpu.stage`."""
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
    """Whether the process ends within some seconds (one that nobody has waited for yet has ended, too)."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False
