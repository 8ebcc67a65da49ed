from __future__ import annotations

import pytest

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.tools.lab.probe.subject import Subject
from kokoro_tvm.tools.lab.probe.values import results_of_modules, select
from probe.conftest import subject_of


def test_modules_are_whole_paths() -> None:
    """Export itself records 'F0.1' and 'resblocks.slice(0, 3, None).1'."""
    values = subject_of("decoder", "exact", {}).values
    assert not any("slice" in v.name for v in values)
    for value in values:
        for weight in value.weights:
            assert weight.startswith(value.module), value.name
    modules = {v.module for v in values}
    assert {"decoder.encode", "decoder.decode.3", "decoder.generator.resblocks.1"} <= modules


def test_shape_depends_on_the_length() -> None:
    values = subject_of("f0n", "exact", {}).values
    doubled = next(v for v in values if v.operation == "upsample_pool")
    assert doubled.shown_shape("F") == "(1, 2*F, 512)"
    assert doubled.shape(10) == (1, 20, 512)


def test_values_depend_on_an_input() -> None:
    values = subject_of("decoder", "exact", {}).values
    assert all(v.operation != "reshape" or v.extents[0] == 1 for v in values)


def test_select_by_name_module_and_wildcard(exact: Subject) -> None:
    values = exact.values
    assert select(values, ["*"]) == values
    assert [v.node for v in select(values, ["conv1d"])] == ["conv1d"]
    assert [v.node for v in select(values, ["text_encoder/layer_*"])] == ["layer_norm"]
    (result,) = select(values, ["text_encoder"])
    assert result == [v for v in values if v.module.startswith("text_encoder")][-1]
    assert select(values, ["layer_norm", "conv1d", "conv1d"]) == select(values, ["conv1d", "layer_norm"])
    with pytest.raises(InputError, match=r"No value and no module of this component is called 'conf1d'\."):
        select(values, ["conv1d", "conf1d"])


def test_results_of_modules_has_one_value_per_module(exact: Subject) -> None:
    results = results_of_modules(exact.values)
    assert results[-1] == exact.values[-1]
    assert len({v.module for v in results if v.module}) == len([v for v in results if v.module])
