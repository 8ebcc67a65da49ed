"""From an ONNX export of Kokoro back to the state dict of the stock PyTorch model.

The exporter names every node after the module that made it, so a weight is found by the name of the node that
reads it, however the initialiser itself is called. What the exporter folded is unfolded: matrix products hold
the transposed weight, LSTM gates stand in ONNX order, weight norm is multiplied out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from kokoro_tvm.common.errors import BuildError

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto, TensorProto

__all__ = ["lstm_tensors", "module_path", "read", "weight_norm_tensors"]

Shapes = Mapping[str, tuple[int, ...]]

# Scopes the export wrapped around the model, and what stands there in KModel.
SCOPES = (("decoder.decoder.", "decoder."), ("encoder.", ""))
# Window and basis of the Fourier transform: computed, not learned, and no part of the stock state dict.
TRANSFORM_TABLE = ".stft."
# Operators that read weights, with the inputs that are weights (a bias keeps its own name in the export).
WEIGHT_INPUTS = {"MatMul": (1,), "Gemm": (1, 2), "Conv": (1, 2), "ConvTranspose": (1, 2), "LSTM": (1, 2, 3)}
# Gates in ONNX order (input, output, forget, cell) at the places where PyTorch has input, forget, cell,
# output.
GATES = (0, 2, 3, 1)


def read(path: Path, expected: Shapes) -> dict[str, torch.Tensor]:
    """Reads every weight of `expected` that the graph holds: stock keys, float32.

    Keys that the graph does not hold are left out; the caller knows which ones inference never reads. Raises
    BuildError when the file is no such export, when one key would get two different tensors, or when a weight
    of the graph belongs to no key.
    """
    graph = _load(path)
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    state: dict[str, torch.Tensor] = {}
    used: set[str] = set()
    for name, tensor in tensors.items():
        key = _unscoped(name)
        if key is None:
            continue
        if TRANSFORM_TABLE in key:
            used.add(name)
            continue
        if key not in expected:
            raise BuildError(f"{path}: tensor {name!r} has no place in the stock model (it would be {key!r})")
        state[key] = _values(tensor, path)
        used.add(name)
    for node in graph.node:
        names = [node.input[i] for i in WEIGHT_INPUTS.get(node.op_type, ()) if i < len(node.input)]
        if not any(name in tensors and name not in used for name in names):
            continue
        weights = [_values(tensors[name], path) for name in names if name in tensors]
        for key, value in _node_weights(node, weights, expected, path):
            if key in state and not torch.equal(state[key], value):
                raise BuildError(f"{path}: node {node.name!r} brings a second, different tensor for {key!r}")
            state[key] = value
    return state


def module_path(node_name: str, leaf: str, expected: Shapes) -> str | None:
    """The module whose node this is, such that `<module>.<leaf>` is expected, or None.

    `/encoder/text_encoder/cnn.0/cnn.0.0/Conv` with leaf `bias` is `text_encoder.cnn.0.0`. A module that is
    called several times has `_1`, `_2`, ... behind its later names, and the predictor's own children stand
    without it.
    """
    parts: list[str] = []
    for part in node_name.strip("/").split("/")[:-1]:
        # A child of a Sequential repeats its parent's name.
        if parts and part.startswith(parts[-1] + "."):
            parts[-1] = part
        else:
            parts.append(part)
    path = _unscoped(".".join(parts))
    if path is None:
        return None
    once = re.sub(r"_\d+$", "", path)
    candidates = (path, once, f"predictor.{path}", f"predictor.{once}")
    return next((name for name in candidates if f"{name}.{leaf}" in expected), None)


def lstm_tensors(
    weight: torch.Tensor, recurrence: torch.Tensor, bias: torch.Tensor
) -> dict[str, torch.Tensor]:
    """An ONNX bidirectional LSTM as the eight tensors of torch's.

    weight (2, 4H, in), recurrence (2, 4H, H), bias (2, 8H: input's, then recurrence's), gates in the order i,
    o, f, c; the result has gates in the order i, f, g, o.
    """
    out: dict[str, torch.Tensor] = {}
    for direction, suffix in enumerate(("", "_reverse")):
        bias_ih, bias_hh = bias[direction].chunk(2)
        sources = {
            "weight_ih_l0": weight[direction],
            "weight_hh_l0": recurrence[direction],
            "bias_ih_l0": bias_ih,
            "bias_hh_l0": bias_hh,
        }
        for name, value in sources.items():
            gates = value.chunk(4)
            out[name + suffix] = torch.cat([gates[gate] for gate in GATES])
    return out


def weight_norm_tensors(weight: torch.Tensor) -> dict[str, torch.Tensor]:
    """A folded weight (C, ...) as the pair that folds back to it: v = w, g = ||w||, shape (C, 1, ...).

    The same bits on every machine: squares are exact in float64 and added one after the other. torch's own
    norm adds in the order of the CPU's vectors, which changes the last bit of one in a hundred.
    """
    rows = weight.reshape(len(weight), -1).numpy().astype(np.float64)
    norms = np.sqrt(np.add.accumulate(rows * rows, axis=1)[:, -1]).astype(np.float32)
    shape = (len(weight), *[1] * (weight.dim() - 1))
    return {"weight_v": weight, "weight_g": torch.from_numpy(norms).reshape(shape)}


def _node_weights(
    node: NodeProto, weights: list[torch.Tensor], expected: Shapes, path: Path
) -> Iterator[tuple[str, torch.Tensor]]:
    """The stock keys that one node's weights become."""
    if node.op_type == "LSTM" and len(weights) == 3:
        leaf, found = "weight_ih_l0", lstm_tensors(*weights)
    elif node.op_type == "MatMul":
        leaf, found = "weight", {"weight": weights[0].T.contiguous()}
    elif node.op_type in {"Conv", "ConvTranspose"}:
        leaf, found = "weight_v", weight_norm_tensors(weights[0])
    else:
        leaf, found = "", {}
    module = module_path(node.name, leaf, expected)
    if module is None:
        shapes = ", ".join(str(tuple(weight.shape)) for weight in weights)
        raise BuildError(
            f"{path}: the weights {shapes} of node {node.name!r} belong to no module of the stock model"
        )
    for name, value in found.items():
        yield f"{module}.{name}", value


def _unscoped(name: str) -> str | None:
    """The name less the scopes of the export; None when it stands outside of them."""
    for scope, instead in SCOPES:
        if name.startswith(scope):
            return instead + name.removeprefix(scope)
    return None


def _load(path: Path) -> GraphProto:
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    try:
        # Data outside of the file would be data that no checksum covers.
        graph = onnx.load(str(path), load_external_data=False).graph
    except (DecodeError, OSError, ValueError) as error:
        raise BuildError(f"{path} is not an ONNX file, or a part of one: {error}") from error
    texts = [text for node in graph.node for text in (node.name, node.op_type, *node.input)]
    if not all(isinstance(text, str) for text in [*texts, *(tensor.name for tensor in graph.initializer)]):
        raise BuildError(f"{path} has names that are not UTF-8: it is damaged. Copy it again.")
    return graph


def _values(tensor: TensorProto, path: Path) -> torch.Tensor:
    from onnx import external_data_helper, numpy_helper

    if external_data_helper.uses_external_data(tensor):
        raise BuildError(
            f"{path}: the values of tensor {tensor.name!r} lie outside of the file; that is not supported"
        )
    try:
        return torch.from_numpy(numpy_helper.to_array(tensor).copy()).to(torch.float32)
    except (ValueError, TypeError, LookupError, OverflowError) as error:
        raise BuildError(f"{path}: tensor {tensor.name!r} is damaged ({error}). Copy it again.") from error
