"""Threads of the WebAssembly runtime: tasks of kernels, and failing tasks."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from elsewhere import obstacle

from kokoro_tvm.native.toolchains.zig import ZIG
from kokoro_tvm.web import WEB

pytestmark = [
    pytest.mark.slow("runs the bundle for WebAssembly"),
    pytest.mark.skipif(obstacle("wasm") is not None, reason=str(obstacle("wasm"))),
]
HERE = Path(__file__).parent
FAILED = "a thread failed, and with it the runtime: "
Run = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def run(runner_runtime: Callable[[str], list[Path]], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a function that calls functions of threads.c with a number of threads."""
    folder = tmp_path_factory.mktemp("threads")
    made, library = folder / "threads.o", folder / "threads.wasm"
    flags = ["-xc", "-target", "wasm32-wasi", "-mcpu=generic+atomics", "-fPIC", "-O1"]
    ZIG.run([*flags, "-c", str(HERE / "threads.c"), "-o", str(made)], "threads.c")
    ZIG.link([made], library)
    (runtime,) = runner_runtime("wasm")

    def call(threads: int, *functions: str) -> dict[str, Any]:
        words = [str(word) for word in (HERE / "threads.mjs", WEB, runtime, library, threads)]
        done = subprocess.run(["node", *words, *functions], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert isinstance(found, dict)
        return found

    return call


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_thread_takes_tasks(threads: int, run: Run) -> None:
    found = run(threads, "others", "others", "changed", "changed")
    assert found["threads"] == threads
    assert found["results"] == [threads - 1, threads - 1, 7, 8]
    assert found["second"] == 7, "a library loaded twice has data of its own"


@pytest.mark.parametrize("threads", [1, 4])
def test_tasks_have_separate_workspaces(threads: int, run: Run) -> None:
    assert run(threads, "allocated")["results"] == [50 * 200 * threads]


def test_failed_task_fails_this_call_and_all_later_ones(run: Run) -> None:
    found = run(2, "others", "traps", "others", "changed")
    assert found["results"] == [1, f"{FAILED}unreachable", f"{FAILED}unreachable", 7]


def test_hanging_task_is_an_error(run: Run) -> None:
    error = f"{FAILED}for 2 s, no thread finished its part of a call; 2 of 3 are missing"
    assert run(3, "stays", "others")["results"] == [error, error]
