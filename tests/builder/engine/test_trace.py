"""Traces of executed functions and read files, in threads and forked jobs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kokoro_tvm.builder.engine.trace import CodeTrace, read_trace
from kokoro_tvm.common.errors import BuildError

SCRIPT = """
import json, sys, threading
from pathlib import Path
from kokoro_tvm.builder.engine import trace

trace.begin()
import kokoro_tvm.recipe.parts  # whose import executes functions
from kokoro_tvm import runtime
from kokoro_tvm.common import platforms
from kokoro_tvm.common import words
from kokoro_tvm.common.cpu_features import features_of_cpu
from kokoro_tvm.builder.engine.processes import run_forked
from kokoro_tvm.common.loading import load
from kokoro_tvm.targets.base import Machine
from kokoro_tvm.targets import cpu_tools

words.hint("a", ["b"])  # before: not this run's


class Inner:
    def method(self):
        return [platforms.parse_triple(each) for each in ["x86_64-linux-gnu"]]


def stage():
    Inner().method()
    thread = threading.Thread(target=lambda: words.nearest("ab", ["abc"]))
    thread.start()
    thread.join()
    run_forked(lambda name: words.shorten_path(Path(name)), ["one", "two"], 2)
    with trace.pause_recording():
        features_of_cpu()
    cpu_tools._list_pinned(platforms.Platform("aarch64", "linux"))
    load("kokoro_tvm.targets.metal")
    package = Path(words.__file__).parents[1]
    list(package.joinpath("native/libkokoro").glob("*.c"))
    list(package.joinpath("native/libtvm").rglob("*.cc"))
    list(package.joinpath("targets").glob("*.py"))


trace.restart()
stage()
trace.take().write(Path(sys.argv[1]))
"""


def test_trace_covers_threads_and_jobs_after_restart(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    subprocess.run([sys.executable, str(script), str(tmp_path / "trace.json")], check=True)
    trace = read_trace(tmp_path / "trace.json")
    assert {
        "kokoro_tvm.common.platforms:parse_triple",
        "kokoro_tvm.common.words:nearest",
        "kokoro_tvm.common.words:shorten_path",
        "kokoro_tvm.targets.cpu_tools:_list_pinned",
        "kokoro_tvm.targets.metal",
    } <= {*trace.executed}
    assert "kokoro_tvm.common.words:hint" in trace.imported
    assert not {"kokoro_tvm.common.words:hint", "kokoro_tvm.common.cpu_features:features_of_cpu"} & {
        *trace.executed
    }
    assert not [name for name in trace.executed if name.startswith("kokoro_tvm.builder.engine")]
    assert {"targets/wheels.json", "native/libkokoro:*.c", "native/libtvm:**/*.cc"} == {*trace.files}


def test_read_trace_rejects_incomplete_files(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    CodeTrace(("a:b",), (), ("c",)).write(path)
    assert read_trace(path) == CodeTrace(("a:b",), (), ("c",))
    for content in ("", "{", json.dumps({"other": []})):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(BuildError, match=r"does not say what a process used: .*; run doit again"):
            read_trace(path)
