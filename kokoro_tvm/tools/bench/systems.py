"""The systems to measure: bundles and peers, each with its requirements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from kokoro_tvm.common.errors import BundleError, InputError, KokoroTvmError
from kokoro_tvm.runtime import Bundle
from kokoro_tvm.runtime.session.device import Gpu
from kokoro_tvm.tools.bench.engine import EngineSpec
from kokoro_tvm.tools.bench.engines.stock import missing_compiler, missing_gpu
from kokoro_tvm.tools.bench.peer_models import PeerModels
from kokoro_tvm.tools.bench.results import Isa, SystemResult

__all__ = ["HELD_BY", "PEERS", "Peer", "System", "bundle_systems", "choose_peers", "peer_system"]

HELD_BY: Mapping[Isa, Mapping[str, str]] = {
    # Of OpenVINO, releases up to 2026.4 follow the first alone: oneDNN's convolutions and products are held,
    # kernels that OpenVINO generates itself are not.
    "avx2": {
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "OV_CPU_MAX_ISA": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    },
}
"""Environment variables that PyTorch, OpenVINO and their libraries follow."""
_STOCK, _ONNX = "kokoro_tvm.tools.bench.engines.stock", "kokoro_tvm.tools.bench.engines.onnx"
_BUNDLE = "kokoro_tvm.tools.bench.engines.bundle:BundleEngine"
_EXTRA = "`pip install '.[lab]'` in the repository"


@dataclass(frozen=True)
class System:
    """A system that can be measured.

    `precision`: "float32", "bfloat16", "int8", or "default" where the system chooses. `disk_bytes`: model and
    compiled code, without voices and without the libraries that run them. `variables`: of the environment of
    its process, which hold it to an instruction set. `imports`: the modules that it is.
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


@dataclass(frozen=True)
class Peer:
    """A system of others: its engine as EngineSpec has it, the packages it takes, which are called as their
    modules are, how to come by its model.

    missing: why it cannot compute here, None where it can; on_gpu: whether it does so on one; can_be_held:
    whether it follows the variables of HELD_BY.
    """

    name: str
    title: str
    precision: str
    engine: str
    packages: tuple[str, ...]
    model: Callable[[PeerModels], Path]
    missing: Callable[[], str | None] = lambda: None
    on_gpu: bool = False
    can_be_held: bool = True


_pytorch = partial(Peer, packages=("torch", "kokoro"), model=PeerModels.stock)
_onnxruntime = partial(
    Peer, engine=f"{_ONNX}:OnnxRuntimeEngine", packages=("onnxruntime",), can_be_held=False
)
_openvino = partial(
    Peer, engine=f"{_ONNX}:OpenVinoEngine", packages=("openvino",), model=PeerModels.onnx_float32
)

PEERS = (
    _pytorch("pytorch", "PyTorch", "float32", f"{_STOCK}:StockEngine"),
    _pytorch("pytorch-bfloat16", "PyTorch bfloat16", "bfloat16", f"{_STOCK}:StockEngine"),
    _pytorch(
        "pytorch-compiled",
        "PyTorch, compiled",
        "float32",
        f"{_STOCK}:open_compiled",
        missing=missing_compiler,
    ),
    _pytorch(
        "pytorch-gpu",
        "PyTorch, on the GPU",
        "float32",
        f"{_STOCK}:open_on_gpu",
        missing=missing_gpu,
        on_gpu=True,
    ),
    _onnxruntime("onnxruntime", "ONNX Runtime", "float32", model=PeerModels.onnx_float32),
    _onnxruntime("onnxruntime-int8", "ONNX Runtime int8", "int8", model=PeerModels.onnx_int8),
    _openvino("openvino", "OpenVINO", "float32"),
    _openvino("openvino-default", "OpenVINO, its default", "default"),
)


def choose_peers(
    names: Sequence[str] | None, peers: Sequence[Peer] = PEERS, gpu: bool = False
) -> tuple[Peer, ...]:
    """The peers of these names, in their order here. If None, all; those on a GPU only if a bundle is, too
    (`gpu`). Raises InputError for an unknown one."""
    known = [peer.name for peer in peers]
    for name in names or ():
        if name not in known:
            raise InputError(f"There is no peer {name!r}. There are: {', '.join(known)}, or none.")
    if names is None:
        return tuple(peer for peer in peers if gpu or not peer.on_gpu)
    return tuple(peer for peer in peers if peer.name in names)


def bundle_systems(bundles: Sequence[Bundle], threads: int) -> list[System | SystemResult]:
    """Our bundles by the names of their recipes, or by their paths where two are of one recipe; the result
    of one for a GPU that is not here, which says so."""
    recipes = [bundle.recipe for bundle in bundles]
    return [
        _bundle_system(
            bundle, bundle.recipe if recipes.count(bundle.recipe) == 1 else str(bundle.root), threads
        )
        for bundle in bundles
    ]


def _bundle_system(bundle: Bundle, name: str, threads: int) -> System | SystemResult:
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
        engine=EngineSpec(_BUNDLE, str(bundle.root), threads, bundle.precision),
        imports=("numpy", "kokoro_tvm.cli", "kokoro_tvm.runtime"),
        versions=_versions(("apache-tvm",)),
        disk_bytes=sum(ref.size for ref in bundle.files() if ref != bundle.voices),
    )


def peer_system(
    peer: Peer, models: PeerModels, threads: int, isa: Isa | None = None
) -> System | SystemResult:
    """The peer with its model at hand, which may have to be fetched or made, held to an instruction set if
    one is given; where something lacks its result, which says what, and what to do about it."""
    if isa is not None and not peer.can_be_held:
        return _absent(peer, f"it cannot be held to {isa.upper()}: ONNX Runtime has no switch for that")
    try:
        versions = _versions(peer.packages)
        if (reason := peer.missing()) is not None:
            return _absent(peer, reason)
        model = peer.model(models)
    except PackageNotFoundError as error:
        return _absent(peer, f"the package {error.name} is not installed; run {_EXTRA}")
    except KokoroTvmError as error:
        return _absent(peer, f"its model cannot be had: {error}")
    return System(
        name=peer.name,
        title=peer.title,
        ours=False,
        precision=peer.precision,
        engine=EngineSpec(peer.engine, str(model), threads, peer.precision),
        imports=("numpy", *peer.packages),
        versions=versions,
        disk_bytes=_size(model),
        variables=HELD_BY[isa] if isa is not None else {},
    )


def _absent(peer: Peer, reason: str) -> SystemResult:
    return SystemResult(
        name=peer.name, title=peer.title, ours=False, precision=peer.precision, problem=f"not run: {reason}"
    )


def _versions(packages: Sequence[str]) -> dict[str, str]:
    return {package: version(package) for package in packages}


def _size(path: Path) -> int:
    files = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)
