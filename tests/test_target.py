from __future__ import annotations

import json

import pytest
import tvm

from kokoro_tvm.errors import BuildError
from kokoro_tvm.ops._features import Features
from kokoro_tvm.target import Machine, resolve, tvm_target

X86, ARM = "x86_64-linux-gnu", "aarch64-linux-gnu"


@pytest.mark.parametrize(
    ("mcpu", "triple", "mattr", "features"),
    [
        ("x86-64", X86, (), Features(4, 16)),
        ("x86-64-v3", X86, (), Features(8, 16)),
        ("haswell", X86, (), Features(8, 16)),
        ("x86-64-v4", X86, (), Features(16, 32)),
        ("znver5", X86, (), Features(16, 32)),
        ("znver5", X86, ("-avx512f",), Features(8, 16)),
        ("generic", ARM, (), Features(4, 32)),
        ("cortex-a72", ARM, (), Features(4, 32)),
        ("apple-m1", "arm64-apple-macosx", (), Features(4, 32)),
    ],
)
def test_features_follow_from_the_cpu(
    mcpu: str, triple: str, mattr: tuple[str, ...], features: Features
) -> None:
    machine = resolve(mcpu, triple, mattr)
    assert machine.features == features
    assert (machine.mcpu, machine.mtriple, machine.mattr) == (mcpu, triple, mattr)


def test_required_features_are_llvm_s_words() -> None:
    assert resolve("x86-64-v3", X86, ()).required == ("avx2", "fma", "f16c", "sse2")
    assert "avx512f" in resolve("znver5", X86, ()).required
    assert resolve("generic", ARM, ()).required == ("neon",)


def test_native_is_this_machine_by_name() -> None:
    machine = resolve("native", None, ())
    assert machine.mcpu not in ("native", "")
    assert machine.mtriple
    assert machine == resolve(machine.mcpu, machine.mtriple, ())


@pytest.mark.parametrize("triple", [X86, ARM])
def test_unknown_cpus_are_refused(triple: str) -> None:
    with pytest.raises(BuildError, match=f"LLVM knows no CPU 'pentium9' for {triple}"):
        resolve("pentium9", triple, ())


def test_machines_are_data() -> None:
    machine = resolve("haswell", X86, ("+f16c",))
    told = json.loads(json.dumps(machine.to_json()))
    assert Machine.from_json(told) == machine
    assert told["kind"] == "llvm"


def test_tvm_takes_the_target() -> None:
    target = tvm_target(resolve("haswell", X86, ("+f16c",)))
    assert isinstance(target, tvm.target.Target)
    assert (str(target.attrs["mcpu"]), list(target.attrs["mattr"])) == ("haswell", ["+f16c"])


@pytest.mark.parametrize(
    ("features", "channels", "vectors"),
    [(Features(16, 32), 8, 2), (Features(8, 16), 4, 3), (Features(4, 32), 8, 2)],
)
def test_a_tile_leaves_registers_for_operands(features: Features, channels: int, vectors: int) -> None:
    assert (features.tile_channels, features.tile_vectors) == (channels, vectors)
    assert channels * vectors + vectors < features.registers
