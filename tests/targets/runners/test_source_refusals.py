"""Refusals of the source runner."""

from __future__ import annotations

import numpy as np
import pytest
from source_kernels import (
    FRAMES,
    ROTATION,
    code_of,
    kinds,
    launch,
)

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.runtime.bundle.device_code import DeviceCode, DeviceFunction
from kokoro_tvm.targets.runners.source.program import load

pytestmark = pytest.mark.slow("compiles kernels for GPUs as C++")


def test_load_names_the_missing_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BuildError, match=r"no g\+\+ to execute GPU .*apt-get install g\+\+"):
        load(code_of("cuda", ROTATION))


@kinds
def test_load_quotes_the_compilers_message(kind: str) -> None:
    with pytest.raises(BuildError) as caught:
        load(code_of(kind, "\n  y[i] = warp_speed(x[i]);"))
    line = FRAMES[kind].partition("BODY")[0].count("\n") + 2
    for words in (
        "refuses the kernels k for",
        f"{kind} source{' of k' if kind == 'metal' else ''}:{line}:",
        "warp_speed",
    ):
        assert words in str(caught.value)


@pytest.mark.parametrize("function", ["nearbyint", "erf"])
def test_load_refuses_functions_that_metal_lacks(function: str) -> None:
    with pytest.raises(BuildError, match=rf"use of deleted function .*{function}"):
        load(code_of("metal", f"  y[i] = {function}(x[i]);"))


def test_load_refuses_machine_code() -> None:
    code = DeviceCode("cuda", "cubin", {}, {"": b"\x7fELF"})
    with pytest.raises(BuildError, match="kernels for cuda as cubin have no source to execute"):
        load(code)


def test_load_refuses_an_unknown_parameter() -> None:
    code = code_of("metal", ROTATION)
    text = code.source.replace("thread_position_in_threadgroup", "my own")
    with pytest.raises(
        BuildError, match=r"k: no value is known for its parameter uint threadIdx \[\[my own\]\]"
    ):
        load(DeviceCode("metal", "metal", code.functions, {"k": text.encode()}))


def test_load_refuses_an_unknown_launch_tag() -> None:
    code = code_of("cuda", ROTATION)
    function = DeviceFunction("k", code.functions["k"].arguments, ("clusterIdx.x",), ())
    with pytest.raises(BuildError, match=r"k: a launch with clusterIdx\.x cannot be executed from source"):
        load(DeviceCode("cuda", "cuda", {"k": function}, code.code))


def test_launch_refuses_too_many_threads() -> None:
    kernels = load(code_of("cuda", ROTATION))
    x = np.ones(64, np.float32)
    with pytest.raises(RuntimeError, match="k: 1025 threads, a workgroup has at most 1024"):
        launch(kernels, x, x.copy(), threads=1025)
