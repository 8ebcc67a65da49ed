from __future__ import annotations

import pytest

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.tools.lab.probe.subject import Subject
from kokoro_tvm.tools.lab.probe.values import results_of_modules, select
from probe.conftest import subject_of


def test_names_are_paths_of_the_model() -> None:
    """Those of weights are whole; export itself tells 'F0.1' and 'resblocks.slice(0, 3, None).1'."""
    values = subject_of("decoder", "exact", {}).values
    assert not any("slice" in v.name for v in values)
    for value in values:
        for weight in value.weights:
            assert weight.startswith(value.module), value.name
    modules = {v.module for v in values}
    assert {"decoder.encode", "decoder.decode.3", "decoder.generator.resblocks.1"} <= modules


def test_shapes_follow_the_length() -> None:
    values = subject_of("f0n", "exact", {}).values
    doubled = next(v for v in values if v.operation == "upsample_pool")
    assert doubled.shown_shape("F") == "(1, 2*F, 512)"
    assert doubled.shape(10) == (1, 20, 512)


def test_what_is_made_of_weights_alone_is_no_value() -> None:
    values = subject_of("decoder", "exact", {}).values
    assert all(v.operation != "reshape" or v.extents[0] == 1 for v in values)


def test_selection(exact: Subject) -> None:
    values = exact.values
    assert select(values, ["*"]) == values
    assert [v.node for v in select(values, ["conv1d"])] == ["conv1d"]
    assert [v.node for v in select(values, ["text_encoder/layer_*"])] == ["layer_norm"]
    (result,) = select(values, ["text_encoder"])
    assert result == [v for v in values if v.module.startswith("text_encoder")][-1]
    assert select(values, ["layer_norm", "conv1d", "conv1d"]) == select(values, ["conv1d", "layer_norm"])
    with pytest.raises(InputError, match=r"No value and no module of this component is called 'conf1d'\."):
        select(values, ["conv1d", "conf1d"])


def test_results_of_modules(exact: Subject) -> None:
    chosen = results_of_modules(exact.values)
    assert chosen[-1] == exact.values[-1]
    assert len({v.module for v in chosen if v.module}) == len([v for v in chosen if v.module])
