from __future__ import annotations

from pathlib import Path

import pytest

from kokoro_tvm.common.cpu_features import ARM, PORTABLE, X86, features_of_cpu


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("processor\t: 0\nflags\t\t: fpu sse2 pni abm avx512_bf16 3dnowprefetch\n",
         {"sse2", "sse3", "lzcnt", "avx512bf16", "prfchw"}),
        ("processor\t: 0\nFeatures\t: fp asimd evtstrm crc32 atomics asimddp\n",
         {"fp-armv8", "neon", "crc", "lse", "dotprod"}),
        ("processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc_zicntr_zicsr_zba_zbb_zve32x\n",
         {"m", "a", "f", "d", "c"}),
        ("isa : rv64imafdcv\n", {"m", "a", "f", "d", "c", "v"}),
        ("flags :\n", set()),
        ("flags : avx2\n\nflags : avx2 fma\n", {"avx2"}),
    ],
    ids=["x86", "arm", "riscv", "riscv with vectors", "nothing", "the first core"],
)  # fmt: skip
def test_features_of_cpu_translates_names_to_llvm(text: str, features: set[str], tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(text)
    assert features_of_cpu(tmp_path / "cpuinfo") == features


def test_features_of_cpu_without_a_list(tmp_path: Path) -> None:
    assert features_of_cpu(tmp_path / "cpuinfo") is None
    (tmp_path / "cpuinfo").write_text("processor : 0\nhart : 1\n")
    assert features_of_cpu(tmp_path / "cpuinfo") is None


def test_portable_levels_are_nested() -> None:
    assert PORTABLE["x86-64-v2"] < PORTABLE["x86-64-v3"] < PORTABLE["x86-64-v4"] < X86.keys()
    assert len(set(X86.values())) == len(X86)
    assert len(set(ARM.values())) == len(ARM)
