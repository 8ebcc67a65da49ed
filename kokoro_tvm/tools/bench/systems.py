"""The systems to measure: bundles and peers, each with its requirements."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from kokoro_tvm.common.errors import BundleError, InputError, KokoroTvmError
from kokoro_tvm.runtime import Bundle
from kokoro_tvm.runtime.session.device import Gpu
from kokoro_tvm.tools.bench.engine import EngineSpec
from kokoro_tvm.tools.bench.engines import missing_compiler, missing_gpu
from kokoro_tvm.tools.bench.peer_models import PeerModels
from kokoro_tvm.tools.bench.results import Isa, SystemResult

ISA_VARIABLES: Mapping[Isa, Mapping[str, str]] = {
    # OpenVINO up to 2026.4 follows only the first one: it restricts oneDNN's convolutions and products, but
    # not the kernels that OpenVINO generates itself.
    "avx2": {
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "OV_CPU_MAX_ISA": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    },
}
"""Environment variables that restrict PyTorch, OpenVINO and their libraries to an instruction set."""
_ENGINES = "kokoro_tvm.tools.bench.engines"
_EXTRA = "`pip install '.[lab]'` in the repository"


@dataclass(frozen=True)
class System:
    """A system that can be measured.

    Attributes:
        name: Name in results.
        title: Name in tables.
        ours: True for a bundle.
        precision: "float32", "bfloat16", "int8", or "default" if the system chooses.
        engine: How to open it.
        imports: Its modules.
        versions: Versions of its packages.
        disk_bytes: Size of model and compiled code, without voices and libraries.
        variables: Environment variables of its process.
    """

    name: str
    title: str
    ours: bool
    precision: str
    engine: EngineSpec
    imports: tuple[str, ...]
    versions: dict[str, str]
    disk_bytes: int
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def import_command(self) -> list[str]:
        """Command that imports the modules and prints a line."""
        return [sys.executable, "-c", f"import {', '.join(self.imports)}; print()"]


@dataclass(frozen=True)
class Peer:
    """Another system.

    Attributes:
        name: Name in results and options.
        title: Name in tables.
        precision: See `System`.
        engine: `module:function`, see `EngineSpec`.
        packages: Packages that it needs, named like their modules.
        model: Returns the path of its model.
        missing: Returns why it cannot run on this machine, or None.
        on_gpu: It runs on a GPU.
        follows_isa: It follows ISA_VARIABLES.
    """

    name: str
    title: str
    precision: str
    engine: str
    packages: tuple[str, ...]
    model: Callable[[PeerModels], Path]
    missing: Callable[[], str | None] = lambda: None
    on_gpu: bool = False
    follows_isa: bool = True


_pytorch = partial(Peer, packages=("torch", "kokoro"), model=PeerModels.stock)
_onnxruntime = partial(
    Peer, engine=f"{_ENGINES}:OnnxRuntimeEngine", packages=("onnxruntime",), follows_isa=False
)
_openvino = partial(
    Peer, engine=f"{_ENGINES}:OpenVinoEngine", packages=("openvino",), model=PeerModels.onnx_float32
)
_STOCK, _COMPILED, _ON_GPU = (
    f"{_ENGINES}:{name}" for name in ("StockModelEngine", "open_compiled", "open_on_gpu")
)

PEERS = (
    _pytorch("pytorch", "PyTorch", "float32", _STOCK),
    _pytorch("pytorch-bfloat16", "PyTorch (bfloat16)", "bfloat16", _STOCK),
    _pytorch("pytorch-compiled", "PyTorch, compiled", "float32", _COMPILED, missing=missing_compiler),
    _pytorch("pytorch-gpu", "PyTorch, on the GPU", "float32", _ON_GPU, missing=missing_gpu, on_gpu=True),
    _onnxruntime("onnxruntime", "ONNX Runtime", "float32", model=PeerModels.onnx_float32),
    _onnxruntime("onnxruntime-int8", "ONNX Runtime (dynamic int8)", "int8", model=PeerModels.onnx_int8),
    _onnxruntime(
        "onnxruntime-static-int8", "ONNX Runtime (static int8)", "int8", model=PeerModels.onnx_static_int8
    ),
    _openvino("openvino", "OpenVINO", "float32"),
    _openvino("openvino-default", "OpenVINO (default)", "default"),
)


def choose_peers(names: Sequence[str] | None, gpu: bool = False) -> tuple[Peer, ...]:
    """Choose peers by name, or all if None; those on a GPU then only if `gpu`.

    Raises:
        InputError: A name is unknown.
    """
    available = [peer.name for peer in PEERS]
    for name in names or ():
        if name not in available:
            raise InputError(f"There is no peer {name!r}. There are: {', '.join(available)}, or none.")
    if names is None:
        return tuple(peer for peer in PEERS if gpu or not peer.on_gpu)
    return tuple(peer for peer in PEERS if peer.name in names)


def bundle_systems(bundles: Sequence[Bundle], threads: int) -> list[System | SystemResult]:
    """Name bundles by their recipes, or by their paths if two have the same recipe.

    A bundle for a GPU that is missing becomes a result that says so.
    """
    recipes = [bundle.recipe for bundle in bundles]
    return [
        _bundle_system(
            bundle, bundle.recipe if recipes.count(bundle.recipe) == 1 else str(bundle.root), threads
        )
        for bundle in bundles
    ]


def _bundle_system(bundle: Bundle, name: str, threads: int) -> System | SystemResult:
    """Describe a bundle as a system; as a result with a problem if its GPU is missing."""
    title = f"kokoro-tvm {name}"
    if bundle.gpu is not None:
        try:
            Gpu(bundle.gpu)
        except BundleError as error:
            problem = f"not run: {error}"
            return SystemResult(
                name=name, title=title, ours=True, precision=bundle.precision, problem=problem
            )
    return System(
        name=name,
        title=title,
        ours=True,
        precision=bundle.precision,
        engine=EngineSpec(f"{_ENGINES}:BundleEngine", str(bundle.root), threads, bundle.precision),
        imports=("numpy", "kokoro_tvm.cli", "kokoro_tvm.runtime"),
        versions=_versions(("apache-tvm",)),
        disk_bytes=sum(ref.size for ref in bundle.files() if ref != bundle.voices),
    )


def peer_system(
    peer: Peer, models: PeerModels, threads: int, isa: Isa | None = None
) -> System | SystemResult:
    """Prepare a peer and its model, or return a result that says what is missing and what to do."""
    if isa is not None and not peer.follows_isa:
        return _report_not_run(
            peer, f"it cannot be held to {isa.upper()}: ONNX Runtime has no switch for that"
        )
    try:
        versions = _versions(peer.packages)
        if (reason := peer.missing()) is not None:
            return _report_not_run(peer, reason)
        model = peer.model(models)
    except PackageNotFoundError as error:
        return _report_not_run(peer, f"the package {error.name} is not installed; run {_EXTRA}")
    except KokoroTvmError as error:
        return _report_not_run(peer, f"its model cannot be had: {error}")
    files = model.iterdir() if model.is_dir() else [model]
    return System(
        name=peer.name,
        title=peer.title,
        ours=False,
        precision=peer.precision,
        engine=EngineSpec(peer.engine, str(model), threads, peer.precision),
        imports=("numpy", *peer.packages),
        versions=versions,
        disk_bytes=sum(file.stat().st_size for file in files),
        variables=ISA_VARIABLES[isa] if isa is not None else {},
    )


def _report_not_run(peer: Peer, reason: str) -> SystemResult:
    """Return the result of a peer that is not run."""
    return SystemResult(
        name=peer.name, title=peer.title, ours=False, precision=peer.precision, problem=f"not run: {reason}"
    )


def _versions(packages: Sequence[str]) -> dict[str, str]:
    """Return the installed versions of packages."""
    return {package: version(package) for package in packages}
