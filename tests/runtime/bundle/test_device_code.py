"""TVM's block of GPU kernels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.runtime.bundle.device_code import DeviceCode, DeviceFunction

_NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=20)
_ARGUMENTS = st.tuples(st.integers(0, 255), st.integers(0, 255), st.integers(0, 2**16 - 1))


@st.composite
def codes(draw: st.DrawFn) -> DeviceCode:
    kind = draw(st.sampled_from(["cuda", "metal", "webgpu"]))
    names = draw(st.lists(_NAMES, unique=True, max_size=4))
    functions = {
        name: DeviceFunction(
            name,
            tuple(draw(st.lists(_ARGUMENTS, max_size=5))),
            tuple(draw(st.lists(_NAMES, max_size=3))),
            tuple(draw(st.lists(st.integers(-5, 5), max_size=3))),
        )
        for name in names
    }
    texts = st.binary(max_size=50)
    code = {"": draw(texts)} if kind == "cuda" else {name: draw(texts) for name in names}
    return DeviceCode(kind, "" if kind == "webgpu" else kind, functions, code)


@given(codes())
def test_device_code_round_trips(code: DeviceCode) -> None:
    assert DeviceCode.from_bytes(code.kind, code.to_bytes()) == code


@given(codes(), st.data())
def test_device_code_refuses_truncated_bytes(code: DeviceCode, data: st.DataObject) -> None:
    content = code.to_bytes()
    with pytest.raises(ValueError, match=f"not kernels for {code.kind}"):
        DeviceCode.from_bytes(code.kind, content[: data.draw(st.integers(0, len(content) - 1))])
