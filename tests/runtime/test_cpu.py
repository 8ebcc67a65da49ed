"""A bundle for another processor is refused before it can die of an illegal instruction."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from kokoro_tvm.errors import BundleError
from kokoro_tvm.runtime import read_bundle
from kokoro_tvm.runtime.cpu import check_cpu

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/cpuinfo")


@pytest.mark.parametrize("features", [(), ("+avx2", "fma", "bmi"), ("something-new",), ("sse4.2",)])
def test_runs_here(plain_bundle: Path, tmp_path: Path, features: tuple[str, ...]) -> None:
    (tmp_path / "cpuinfo").write_text("processor : 0\nflags\t\t: fpu avx2 fma bmi1 sse4_2\n")
    check_cpu(dataclasses.replace(read_bundle(plain_bundle), cpu_features=features), tmp_path / "cpuinfo")


def test_lacks_instructions(plain_bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("flags : fpu avx2 fma\n")
    bundle = dataclasses.replace(read_bundle(plain_bundle), cpu_features=("+avx512f", "avx2", "+avx512bf16"))
    with pytest.raises(BundleError, match="avx512bf16, avx512f, which this one lacks"):
        check_cpu(bundle, tmp_path / "cpuinfo")
