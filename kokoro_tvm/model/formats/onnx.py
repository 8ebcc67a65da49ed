"""Conversion of an ONNX export of Kokoro to the state dict of the stock PyTorch model.

The exporter names every node after its module, so the node that reads a weight gives the weight's key,
whatever the initializer's name is. The exporter's changes are undone: it transposes the weights of matrix
products, orders LSTM gates as ONNX does, and multiplies out weight norm.
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

Shapes = Mapping[str, tuple[int, ...]]

# Scopes of the export, and the prefix in KModel.
SCOPES = (("decoder.decoder.", "decoder."), ("encoder.", ""))
# Window and basis of the Fourier transform: computed, and not in the stock state dict.
TRANSFORM_TABLE = ".stft."
# Operator -> its inputs that are weights (a bias keeps its own name in the export).
WEIGHT_INPUTS = {"MatMul": (1,), "Gemm": (1, 2), "Conv": (1, 2), "ConvTranspose": (1, 2), "LSTM": (1, 2, 3)}
# Positions in ONNX's order of gates (input, output, forget, cell) for PyTorch's (input, forget, cell,
# output).
GATES = (0, 2, 3, 1)


def read(path: Path, expected: Shapes) -> dict[str, torch.Tensor]:
    """Read every weight of `expected` that the graph has: stock keys, float32.

    Raises:
        BuildError: The file is no such export, a key would get two different tensors, or a weight of the
            graph belongs to no key.
    """
    graph = _load_graph(path)
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    state: dict[str, torch.Tensor] = {}
    used: set[str] = set()
    for name, tensor in tensors.items():
        key = _strip_scopes(name)
        if key is None:
            continue
        if TRANSFORM_TABLE in key:
            used.add(name)
            continue
        if key not in expected:
            raise BuildError(f"{path}: tensor {name!r} has no place in the stock model (it would be {key!r})")
        state[key] = _to_tensor(tensor, path)
        used.add(name)
    for node in graph.node:
        names = [node.input[i] for i in WEIGHT_INPUTS.get(node.op_type, ()) if i < len(node.input)]
        if not any(name in tensors and name not in used for name in names):
            continue
        weights = [_to_tensor(tensors[name], path) for name in names if name in tensors]
        for key, value in _node_weights(node, weights, expected, path):
            if key in state and not torch.equal(state[key], value):
                raise BuildError(f"{path}: node {node.name!r} brings a second, different tensor for {key!r}")
            state[key] = value
    return state


def find_module(node_name: str, leaf: str, expected: Shapes) -> str | None:
    """Return the module of a node such that `<module>.<leaf>` is expected, or None.

    `/encoder/text_encoder/cnn.0/cnn.0.0/Conv` with leaf `bias` is `text_encoder.cnn.0.0`. A module that is
    called several times has the suffixes `_1`, `_2`, ..., and children of the predictor lack its name.
    """
    parts: list[str] = []
    for part in node_name.strip("/").split("/")[:-1]:
        # A child of a Sequential repeats its parent's name.
        if parts and part.startswith(parts[-1] + "."):
            parts[-1] = part
        else:
            parts.append(part)
    path = _strip_scopes(".".join(parts))
    if path is None:
        return None
    once = re.sub(r"_\d+$", "", path)
    candidates = (path, once, f"predictor.{path}", f"predictor.{once}")
    return next((name for name in candidates if f"{name}.{leaf}" in expected), None)


def convert_lstm(
    weight: torch.Tensor, recurrence: torch.Tensor, bias: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Convert an ONNX bidirectional LSTM, gates in the order i, o, f, c, to torch's tensors, in i, f, g, o.

    Args:
        weight: (2, 4H, in).
        recurrence: (2, 4H, H).
        bias: (2, 8H), the input's, then the recurrence's.
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


def split_weight_norm(weight: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return the pair that folds to a weight (C, ...): v = w, g = ||w||, shape (C, 1, ...)."""
    # The bits are the same on every machine: squares are exact in float64, and their sum has a fixed order.
    # torch's norm sums in the order of the CPU's vectors, which changes the last bit of one in a hundred.
    rows = weight.reshape(len(weight), -1).numpy().astype(np.float64)
    norms = np.sqrt(np.add.accumulate(rows * rows, axis=1)[:, -1]).astype(np.float32)
    shape = (len(weight), *[1] * (weight.dim() - 1))
    return {"weight_v": weight, "weight_g": torch.from_numpy(norms).reshape(shape)}


def _node_weights(
    node: NodeProto, weights: list[torch.Tensor], expected: Shapes, path: Path
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the stock keys and tensors of a node's weights. Raises BuildError for an unknown weight."""
    if node.op_type == "LSTM" and len(weights) == 3:
        leaf, tensors = "weight_ih_l0", convert_lstm(*weights)
    elif node.op_type == "MatMul":
        leaf, tensors = "weight", {"weight": weights[0].T.contiguous()}
    elif node.op_type in {"Conv", "ConvTranspose"}:
        leaf, tensors = "weight_v", split_weight_norm(weights[0])
    else:
        leaf, tensors = "", {}
    module = find_module(node.name, leaf, expected)
    if module is None:
        shapes = ", ".join(str(tuple(weight.shape)) for weight in weights)
        raise BuildError(
            f"{path}: the weights {shapes} of node {node.name!r} belong to no module of the stock model"
        )
    for name, value in tensors.items():
        yield f"{module}.{name}", value


def _strip_scopes(name: str) -> str | None:
    """Return a name without the scopes of the export, or None if it is outside of them."""
    for scope, prefix in SCOPES:
        if name.startswith(scope):
            return prefix + name.removeprefix(scope)
    return None


def _load_graph(path: Path) -> GraphProto:
    """Return the graph of a file, without the data that lies outside of it.

    Raises BuildError if it is no ONNX file.
    """
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    try:
        # No digest covers data outside of the file.
        graph = onnx.load(str(path), load_external_data=False).graph
    except (DecodeError, OSError, ValueError) as error:
        raise BuildError(f"{path} is not an ONNX file, or a part of one: {error}") from error
    texts = [text for node in graph.node for text in (node.name, node.op_type, *node.input)]
    if not all(isinstance(text, str) for text in [*texts, *(tensor.name for tensor in graph.initializer)]):
        raise BuildError(f"{path} has names that are not UTF-8: it is damaged. Copy it again.")
    return graph


def _to_tensor(tensor: TensorProto, path: Path) -> torch.Tensor:
    """Return a tensor as float32. Raises BuildError if it is damaged, or lies outside of the file."""
    from onnx import external_data_helper, numpy_helper

    if external_data_helper.uses_external_data(tensor):
        raise BuildError(
            f"{path}: the values of tensor {tensor.name!r} lie outside of the file; that is not supported"
        )
    try:
        return torch.from_numpy(numpy_helper.to_array(tensor).copy()).to(torch.float32)
    except (ValueError, TypeError, LookupError, OverflowError) as error:
        raise BuildError(f"{path}: tensor {tensor.name!r} is damaged ({error}). Copy it again.") from error
