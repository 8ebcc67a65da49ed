from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from kokoro_tvm.tools.bench import kernels
from kokoro_tvm.tools.bench.kernels import kernels_digest


def test_a_short_digest() -> None:
    assert re.fullmatch(r"[0-9a-f]{8}", kernels_digest())
    assert kernels_digest() == kernels_digest()


def test_it_is_of_what_builds_kernels_for_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: dict[str, str] = {}

    def digest(code: Mapping[str, str]) -> str:
        counted.update(code)
        return "0" * 64

    monkeypatch.setattr(kernels, "digest", digest)
    kernels_digest()
    assert {"kokoro_tvm.kernels.cpu.conv:emit", "kokoro_tvm.kernels.lstm:_build_cpu_kernel"} <= set(counted)
    assert not [name for name in counted if name.startswith("kokoro_tvm.kernels.gpu.")]
