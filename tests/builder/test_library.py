"""Libraries linked from objects: which kernels are generated again."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from lowering import MACHINE, RECIPE, lowered_program, program, small_program

from kokoro_tvm import kernels as ops
from kokoro_tvm.builder.engine.parts import Parts
from kokoro_tvm.builder.engine.processes import run_forked
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.builder.library import compile_module
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.compiler import codegen
from kokoro_tvm.native.toolchains.gnu import GNU

PASS_CONTEXT: dict[str, Any] = RECIPE["pass_context"]
Compile = Callable[..., bytes]


def convolutions(dilation: int = 1) -> Any:
    """Return a module of a few kernels; the dilation is that of one convolution."""

    def forward(w: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        x = ops.conv1d(x, w["a"], padding=1)
        x = ops.conv1d(x, w["b"], padding=dilation, dilation=dilation)
        return ops.conv1d(x, w["c"]) + 1.0

    weights = {"a": (8, 4, 3), "b": (8, 8, 3), "c": (4, 8, 1)}
    return lowered_program(small_program(forward, weights), "small").module


@pytest.fixture(scope="module")
def plain() -> Any:
    return convolutions()


@pytest.fixture(scope="module")
def without(plain: Any, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the module's library, compiled without a store."""
    path = tmp_path_factory.mktemp("library") / "without.so"
    return compile_module(plain, MACHINE, GNU, path, PASS_CONTEXT).read_bytes()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def compiled(store: Store, tmp_path: Path) -> Compile:
    """Compile a module with the store's objects; return the library's bytes and log what was generated."""
    count = 0

    def compile_(module: Any, pass_context: dict[str, Any] = PASS_CONTEXT, processes: int = 2) -> bytes:
        nonlocal count
        count += 1
        folder = tmp_path / f"{'long-' * count}name"
        folder.mkdir()
        lines: list[str] = []
        objects = Parts(Store(store.root), {})
        out = compile_module(
            module, MACHINE, GNU, folder / "small.so", pass_context, objects, processes, lines.append
        )
        assert [p.name for p in folder.iterdir()] == ["small.so"]
        generated.extend(lines)
        return out.read_bytes()

    generated.clear()
    return compile_


generated: list[str] = []


def test_compile_module_regenerates_changed_kernel_only(plain: Any, compiled: Compile) -> None:
    first, again = compiled(plain), compiled(plain)
    other, back = compiled(convolutions(dilation=2)), compiled(convolutions())
    assert generated == [
        "4 kernels, 4 to generate",
        "4 kernels, 0 to generate",
        "4 kernels, 1 to generate",
        "4 kernels, 0 to generate",
    ]
    assert first == again == back != other


@pytest.mark.parametrize("processes", [1, 5])
def test_compile_module_is_independent_of_cache_and_processes(
    processes: int, plain: Any, without: bytes, compiled: Compile
) -> None:
    assert compiled(plain, processes=processes) == without
    assert compiled(plain) == without


def test_compile_module_regenerates_damaged_object(plain: Any, compiled: Compile, store: Store) -> None:
    whole = compiled(plain)
    damaged = max((store.root / "objects").glob("*/*"), key=lambda path: path.stat().st_size)
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.chmod(0o644)
    damaged.write_bytes(content)
    assert compiled(plain) == whole
    assert generated[-1] == "4 kernels, 1 to generate"
    assert all(not problem for _, problem in store.audit())


@pytest.mark.parametrize(
    "change",
    [{"config": {"tirx.disable_cse_tir": True}}, {"disabled_passes": ["tirx.CommonSubexprElim"]}],
    ids=["config", "disabled pass"],
)
def test_compile_module_passes_options_to_codegen(
    change: dict[str, Any], plain: Any, compiled: Compile
) -> None:
    usual, changed = compiled(plain), compiled(plain, PASS_CONTEXT | change)
    assert usual != changed
    assert generated[-1] == "4 kernels, 4 to generate", "they are among what an object is made of"
    assert compiled(plain) == usual
    assert generated[-1] == "4 kernels, 0 to generate"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"tirx.no_such_option": True}, "Invalid config option 'tirx.no_such_option'"),
        ({"tirx.disable_vectorize": "yes"}, "tirx.disable_vectorize to have type bool"),
    ],
)
def test_compile_module_rejects_unknown_options(
    config: dict[str, Any], message: str, plain: Any, tmp_path: Path
) -> None:
    options = PASS_CONTEXT | {"config": config}
    with pytest.raises(BuildError, match=f"pass_context: .*{message}"):
        lowered_program(program("text_encoder"), "text_encoder", pass_context=options)
    with pytest.raises(BuildError, match=f"pass_context: .*{message}"):
        compile_module(plain, MACHINE, GNU, tmp_path / "small.so", options)


def test_compile_module_names_failing_kernel(plain: Any, store: Store, tmp_path: Path) -> None:
    """Leave out the pass that sets the kernels' calling convention."""
    options = PASS_CONTEXT | {"disabled_passes": ["tirx.MakePackedAPI"]}
    (tmp_path / "out").mkdir()
    out = tmp_path / "out" / "small.so"
    out.write_bytes(b"before")
    with pytest.raises(BuildError, match=r"^small_\w+: \w+Error: "):
        compile_module(plain, MACHINE, GNU, out, options, Parts(store, {}), 2)
    assert list(out.parent.iterdir()) == [out]
    assert out.read_bytes() == b"before"
    assert list(store.records()) == []


@pytest.mark.slow("compiles in processes that are killed")
def test_compile_module_keeps_whole_objects_when_killed(
    plain: Any, compiled: Compile, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate = codegen.generate_kernel

    class HalfWritten:
        """Write a part of the code, and kill the process group."""

        def write_to_file(self, path: str) -> None:
            Path(path).write_bytes(b"\x7fELF")
            while not list(store.records()):
                pass
            os.killpg(0, signal.SIGKILL)

    def some(name: str, *rest: Any) -> Any:
        return HalfWritten() if name == "small_conv1d_0" else generate(name, *rest)

    def job(name: str) -> None:
        os.setpgid(0, 0)
        compile_module(plain, MACHINE, GNU, tmp_path / "killed.so", PASS_CONTEXT, Parts(store, {}), 2)

    with monkeypatch.context() as patch, pytest.raises(BuildError, match="killed"):
        patch.setattr(codegen, "generate_kernel", some)
        run_forked(job, ["compile"], 1)
    assert not (tmp_path / "killed.so").exists()
    kept = len(list(store.records()))
    assert 0 < kept < 4
    assert all(not problem for _, problem in store.audit())
    compiled(plain)
    assert generated[-1] == f"4 kernels, {4 - kept} to generate"


@pytest.mark.slow("compiles in three processes at once")
def test_compile_module_shares_store_between_processes(plain: Any, store: Store, tmp_path: Path) -> None:
    def job(name: str) -> None:
        (tmp_path / name).mkdir()
        objects = Parts(Store(store.root), {})
        compile_module(plain, MACHINE, GNU, tmp_path / name / "small.so", PASS_CONTEXT, objects, 2)

    run_forked(job, ["one", "two", "three"], 3)
    assert len({(tmp_path / name / "small.so").read_bytes() for name in ("one", "two", "three")}) == 1
    assert len(list(store.records())) == len(list((store.root / "objects").glob("*/*"))) == 4
    assert all(not problem for _, problem in store.audit())
