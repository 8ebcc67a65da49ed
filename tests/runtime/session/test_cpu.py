"""Checks of the CPU."""

from __future__ import annotations

import dataclasses
import re
import warnings
from pathlib import Path

import pytest
from toy_bundle import edit_manifest

from kokoro_tvm.common.cpu_features import AMX, PORTABLE, X86, features_of_cpu
from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.common.platforms import Platform, detect_platform
from kokoro_tvm.runtime import Bundle, SpeechWarning, Synthesizer, read_bundle
from kokoro_tvm.runtime.session.cpu import check_cpu

ARM_FEATURES = "Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics cpuid\n"
NATIVE = (*PORTABLE["x86-64-v4"], "avx512bf16", "gfni")


def flags(*features: str) -> str:
    """Return the cpuinfo of an x86 CPU with features, by LLVM's names."""
    return f"processor\t: 0\nflags\t\t: fpu {' '.join(X86[name] for name in features)}\n"


@pytest.fixture
def bundle(plain_bundle: Path) -> Bundle:
    return read_bundle(plain_bundle)


def refusal(bundle: Bundle, cpuinfo: str, tmp_path: Path) -> str:
    (tmp_path / "cpuinfo").write_text(cpuinfo)
    with pytest.raises(BundleError) as caught:
        check_cpu(bundle, tmp_path / "cpuinfo")
    assert caught.value.exit_code == 5
    return str(caught.value)


@pytest.mark.parametrize(
    ("features", "cpuinfo"),
    [
        ((), flags("avx2")),
        (("avx2", "fma", "bmi"), flags("sse2", "avx2", "fma", "bmi")),
        (NATIVE, flags(*NATIVE)),
        (("fp-armv8", "neon", "crc"), ARM_FEATURES),
    ],
)
def test_check_cpu_accepts_available_features(
    bundle: Bundle, tmp_path: Path, features: tuple[str, ...], cpuinfo: str
) -> None:
    (tmp_path / "cpuinfo").write_text(cpuinfo)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_cpu(dataclasses.replace(bundle, cpu_features=features), tmp_path / "cpuinfo")


@pytest.mark.parametrize("cpuinfo", [None, "processor : 0\n"], ids=["no list", "a list without features"])
def test_check_cpu_warns_without_a_list_of_features(
    bundle: Bundle, tmp_path: Path, cpuinfo: str | None
) -> None:
    if cpuinfo is not None:
        (tmp_path / "cpuinfo").write_text(cpuinfo)
    with pytest.warns(SpeechWarning, match=r"not checked whether .* runs here: it needs avx2, fma\."):
        check_cpu(dataclasses.replace(bundle, cpu_features=("avx2", "fma")), tmp_path / "cpuinfo")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_cpu(dataclasses.replace(bundle, cpu_features=()), tmp_path / "cpuinfo")


@pytest.mark.parametrize(
    ("recipe", "precision", "needs", "here", "missing", "instead"),
    [
        ("cpu-bf16", "bfloat16", NATIVE, PORTABLE["x86-64-v4"] | {"gfni"}, "avx512bf16",
         "Use the recipe `cpu` (float32), built on this machine, or the portable recipe `x86-64-v4`."),
        ("cpu-bf16", "bfloat16", NATIVE, PORTABLE["x86-64-v3"] | {"gfni"},
         "avx512bf16, avx512bw, avx512cd, avx512dq, avx512f, avx512vl",
         "Use the recipe `cpu` (float32), built on this machine, or the portable recipe `x86-64-v3`."),
        ("x86-64-v4", "float32", PORTABLE["x86-64-v4"], PORTABLE["x86-64-v3"],
         "avx512bw, avx512cd, avx512dq, avx512f, avx512vl",
         "Use the recipe `cpu`, built on this machine, or the portable recipe `x86-64-v3`."),
        ("cpu", "float32", NATIVE, PORTABLE["x86-64-v4"] | {"avx512bf16"}, "gfni",
         "Use the recipe `cpu`, built on this machine, or the portable recipe `x86-64-v4`."),
        ("x86-64-v3", "float32", PORTABLE["x86-64-v3"], PORTABLE["x86-64-v3"] - {"avx2", "fma"}, "avx2, fma",
         "Use the recipe `cpu`, built on this machine, or the portable recipe `x86-64-v2`."),
        ("x86-64-v2", "float32", PORTABLE["x86-64-v2"], {"sse2"},
         "cx16, popcnt, sahf, sse3, sse4.1, sse4.2, ssse3",
         "Use the recipe `cpu`, built on this machine."),
    ],
    ids=["bf16 on v4", "bf16 on v3", "v4 on v3", "native elsewhere", "v3 on an old one", "v2 on a first one"],
)  # fmt: skip
def test_check_cpu_names_missing_features_and_alternatives(
    bundle: Bundle,
    tmp_path: Path,
    recipe: str,
    precision: str,
    needs: frozenset[str],
    here: frozenset[str],
    missing: str,
    instead: str,
) -> None:
    built = dataclasses.replace(bundle, recipe=recipe, precision=precision, cpu_features=tuple(needs))
    message = refusal(built, flags(*here), tmp_path)
    assert f"(recipe {recipe}) was built for a processor with {missing}, which this one lacks. " in message
    assert message.endswith(instead)


@pytest.mark.skipif(features_of_cpu() is None, reason="the system does not list the CPU's features")
def test_synthesizer_checks_the_cpu_before_loading_code(plain_bundle: Path) -> None:
    """The libraries of this bundle are invalid."""
    edit_manifest(plain_bundle, lambda manifest: manifest.update(cpu_features=["avx99"]))
    with pytest.raises(BundleError, match="with avx99, which this one lacks"):
        Synthesizer(plain_bundle)


def test_check_cpu_refuses_another_architecture(bundle: Bundle, tmp_path: Path) -> None:
    """Common names (`aes`) do not hide the missing ones."""
    x86 = dataclasses.replace(bundle, cpu_features=("sse2", "avx2", "aes"))
    assert "with avx2, sse2, which this one lacks" in refusal(x86, ARM_FEATURES, tmp_path)
    arm = dataclasses.replace(bundle, cpu_features=("fp-armv8", "neon", "aes"))
    assert "with fp-armv8, neon, which this one lacks" in refusal(arm, flags(*NATIVE, "aes"), tmp_path)


def test_check_cpu_refuses_unknown_features(bundle: Bundle, tmp_path: Path) -> None:
    newer = dataclasses.replace(bundle, cpu_features=("avx2", "avx99"))
    assert "with avx99, which this one lacks" in refusal(newer, flags("avx2"), tmp_path)


TILES = (*PORTABLE["x86-64-v4"], "avx512bf16", *sorted(AMX))


def test_check_cpu_refuses_missing_amx(bundle: Bundle, tmp_path: Path) -> None:
    built = dataclasses.replace(bundle, recipe="x86-64-amx", precision="bfloat16", cpu_features=TILES)
    assert "with amx-bf16, amx-tile, which this one lacks. " in refusal(built, flags(*NATIVE), tmp_path)
    (tmp_path / "cpuinfo").write_text(flags(*NATIVE))
    check_cpu(built, tmp_path / "cpuinfo", emulated=AMX)


@pytest.mark.skipif(detect_platform() != Platform("x86_64", "linux"), reason="not Linux on x86-64")
def test_check_cpu_requests_amx_from_linux(bundle: Bundle, tmp_path: Path) -> None:
    """It refuses on a CPU without AMX."""
    built = dataclasses.replace(bundle, recipe="x86-64-amx", cpu_features=TILES)
    if (features_of_cpu() or frozenset()) >= AMX:
        check_cpu(built)
        return
    message = refusal(built, flags(*TILES), tmp_path)
    assert re.search(
        r"needs AMX, and Linux does not give it to this process \(\w.*\)\. Use the recipe", message
    )
