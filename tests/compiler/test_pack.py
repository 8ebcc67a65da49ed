from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.common.features import Features
from kokoro_tvm.compiler.lower import Parameter
from kokoro_tvm.compiler.pack import ALIGNMENT, pack_weights
from kokoro_tvm.kernels.base.semantic import OpCall, PackedWeight
from kokoro_tvm.runtime.bundle.tensors import map_safetensors

CALL = OpCall({"x": (1, 3), "weight": (5, 3), "bias": (5,)}, {}, (1, 5), Features(4, 16))
PACKED = PackedWeight("linear", "weight", CALL, "linear(width=16)")
PARAMETERS = [
    Parameter("a.bias", "float32", (5,), None),
    Parameter("a.weight", "float32", (1, 3, 16), PACKED),
]
STATE = {
    "a.bias": np.arange(5, dtype=np.float32),
    "a.weight": np.arange(15, dtype=np.float32).reshape(5, 3),
    "unused": np.zeros(3, np.float32),
}


def test_pack_weights_writes_flat_padded_safetensors(tmp_path: Path) -> None:
    loaded = load_file(pack_weights(PARAMETERS, STATE, tmp_path / "w.safetensors"))
    assert set(loaded) == {p.name for p in PARAMETERS}
    for parameter in PARAMETERS:
        array = loaded[parameter.name]
        assert array.ndim == 1
        assert array.nbytes % ALIGNMENT == 0
        count = int(np.prod(parameter.shape))
        assert not array[count:].any()
    assert np.array_equal(loaded["a.bias"][:5], STATE["a.bias"])
    packed = loaded["a.weight"][:48].reshape(3, 16)
    assert np.array_equal(packed[:, :5], STATE["a.weight"].T)
    assert not packed[:, 5:].any()


def test_pack_weights_aligns_to_cache_lines(tmp_path: Path) -> None:
    data = pack_weights(PARAMETERS, STATE, tmp_path / "w.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    assert (8 + size) % ALIGNMENT == 0
    assert all(entry["data_offsets"][0] % ALIGNMENT == 0 for entry in header.values())
    assert [*header] == [p.name for p in PARAMETERS]
    assert max(entry["data_offsets"][1] for entry in header.values()) == len(data) - 8 - size


def test_pack_weights_joins_weights(tmp_path: Path) -> None:
    """Expect each weight packed, in the order of the parts."""
    parts = (("a.bias", None), ("a.weight", PACKED))
    joined = Parameter("a.bias+1", "float32", (5 + 48,), None, parts)
    loaded = load_file(pack_weights([joined], STATE, tmp_path / "w.safetensors"))
    assert [*loaded] == ["a.bias+1"]
    assert np.array_equal(loaded["a.bias+1"][:5], STATE["a.bias"])
    assert np.array_equal(loaded["a.bias+1"][5:53].reshape(3, 16)[:, :5], STATE["a.weight"].T)
    with pytest.raises(BuildError, match=r"the checkpoint has no a\.weight, which"):
        pack_weights([joined], {"a.bias": STATE["a.bias"]}, tmp_path / "w.safetensors")


@pytest.mark.parametrize("dtype", ["float16", "int32", "uint16"])
def test_pack_weights_writes_other_dtypes(
    dtype: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Store bfloat16 as its bits, in pairs or alone: a rounded weight takes half the bytes."""
    packed = np.arange(-3, 40).astype(dtype)
    monkeypatch.setattr(PackedWeight, "pack", lambda self, array: packed)
    parameters = [PARAMETERS[0], Parameter("a.weight", dtype, packed.shape, PACKED)]
    path = pack_weights(parameters, STATE, tmp_path / "w.safetensors")
    for loaded in (load_file(path), map_safetensors(path)):
        assert loaded["a.weight"].dtype == packed.dtype
        assert np.array_equal(loaded["a.weight"][: packed.size], packed)
        assert loaded["a.weight"].nbytes % ALIGNMENT == 0
        assert np.array_equal(loaded["a.bias"][:5], STATE["a.bias"])


@pytest.mark.parametrize(
    ("packed", "wanted", "message"),
    [
        ("int32", "float32", r"a\.weight is int32 of shape .* takes float32"),
        ("float64", "float64", r"a\.weight is packed as float64, which no bundle holds"),
    ],
)
def test_pack_weights_rejects_other_dtype(
    packed: str, wanted: str, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(PackedWeight, "pack", lambda self, array: np.zeros((1, 3, 16), packed))
    with pytest.raises(BuildError, match=message):
        pack_weights([Parameter("a.weight", wanted, (1, 3, 16), PACKED)], STATE, tmp_path / "w.safetensors")
    assert not list(tmp_path.iterdir())


def test_pack_weights_quantizes_packed_weights(tmp_path: Path) -> None:
    path = pack_weights(PARAMETERS, STATE, tmp_path / "w.safetensors", {"a": 10})
    whole = map_safetensors(pack_weights(PARAMETERS, STATE, tmp_path / "whole.safetensors"))
    rounded = map_safetensors(path)
    assert np.array_equal(rounded["a.bias"], whole["a.bias"])
    quantized, weight = rounded["a.weight"].ravel()[:48], whole["a.weight"][:48]
    assert quantized.dtype == np.float32
    assert 0 < np.abs(quantized - weight).max() <= 14 / 511 / 2 + 1e-6
    stored = load_file(path)["a.weight"]
    assert (stored.dtype, stored.size) == (np.uint8, 128)  # 16 scales, 48 and 12 bytes; padded


def test_pack_weights_rejects_bits_of_no_weight(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"weight_bits has a\.w, and the checkpoint no weight"):
        pack_weights(PARAMETERS, STATE, tmp_path / "w.safetensors", {"a": 10, "a.w": 8})
    assert not list(tmp_path.iterdir())


def test_pack_weights_is_reproducible(tmp_path: Path) -> None:
    first, second = (pack_weights(PARAMETERS, STATE, tmp_path / name).read_bytes() for name in ("a", "b"))
    assert first == second


def test_pack_weights_rejects_missing_weight(tmp_path: Path) -> None:
    state = {name: array for name, array in STATE.items() if name != "a.bias"}
    with pytest.raises(BuildError, match=r"the checkpoint has no a\.bias"):
        pack_weights(PARAMETERS, state, tmp_path / "w.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.bias", "a.weight"])
def test_pack_weights_rejects_other_shape(name: str, tmp_path: Path) -> None:
    state = STATE | {name: np.zeros((40, 3) if name == "a.weight" else (6,), np.float32)}
    with pytest.raises(BuildError, match=f"{name} is float32 of shape .* after packing, .* takes float32"):
        pack_weights(PARAMETERS, state, tmp_path / "w.safetensors")
    assert not list(tmp_path.iterdir())
