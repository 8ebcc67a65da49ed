"""The model built without the hub is the stock model."""

from __future__ import annotations

import copy
import hashlib
import io
import socket
from typing import Any

import pytest
import torch

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model import kokoro
from kokoro_tvm.model.kokoro import build_model, list_shapes, load_config, load_state, use_default_dtype
from kokoro_tvm.model.synthetic import draw_state, draw_voices, shrink_config

PHONEMES = "həlˈO."


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return shrink_config(kokoro.load_shipped_config())


@pytest.fixture(scope="module")
def state(config: dict[str, Any]) -> dict[str, torch.Tensor]:
    return draw_state(config, seed=0)


@pytest.fixture(scope="module")
def model(config: dict[str, Any], state: dict[str, torch.Tensor]) -> Any:
    return build_model(config, state)


@pytest.fixture
def style() -> torch.Tensor:
    return draw_voices(0)["af_heart"][len(PHONEMES) - 1][None]


def test_build_model_equals_kmodel(
    model: Any, config: dict[str, Any], state: dict[str, torch.Tensor], style: torch.Tensor
) -> None:
    from kokoro.model import KModel

    nested: dict[str, dict[str, torch.Tensor]] = {}
    for key, tensor in state.items():
        module, _, rest = key.partition(".")
        nested.setdefault(module, {})[rest] = tensor
    file = io.BytesIO()
    torch.save(nested, file)
    file.seek(0)
    stock = KModel(repo_id="hexgrad/Kokoro-82M", config=config, model=file).eval()
    assert type(model) is KModel
    assert (model.vocab, model.context_length) == (stock.vocab, stock.context_length)
    stock_state = stock.state_dict()
    assert list(model.state_dict()) == list(stock_state) == list(list_shapes(config))
    torch.manual_seed(7)
    expected = stock(PHONEMES, style, return_output=True)
    torch.manual_seed(7)
    actual = model(PHONEMES, style, return_output=True)
    assert torch.equal(actual.pred_dur, expected.pred_dur)
    assert torch.equal(actual.audio, expected.audio)


def test_build_model_uses_neither_network_nor_random_state(
    config: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr("kokoro.model.hf_hub_download", refuse)
    before = torch.random.get_rng_state()
    build_model(config, None)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_build_model_float64_agrees_with_float32(
    model: Any, config: dict[str, Any], state: dict[str, torch.Tensor], style: torch.Tensor
) -> None:
    double = build_model(config, state, dtype=torch.float64)
    window = double.decoder.generator.stft.window
    assert torch.equal(window, torch.hann_window(20, dtype=torch.float64))
    tokens = torch.tensor([[0, *(config["vocab"][symbol] for symbol in PHONEMES), 0]])
    with use_default_dtype(torch.float64):
        audio, durations = double.forward_with_tokens(tokens, style.double())
    single, single_durations = model.forward_with_tokens(tokens, style)
    assert audio.dtype == torch.float64 and single.dtype == torch.float32
    assert durations.tolist() == single_durations.tolist()
    assert audio.shape == (600 * int(durations.sum()),)
    with use_default_dtype(torch.float64):
        d64 = double.bert_encoder(double.bert(tokens))
    d32 = model.bert_encoder(model.bert(tokens))
    assert d64.dtype == torch.float64
    torch.testing.assert_close(d64.float(), d32, rtol=1e-4, atol=1e-4)


def test_default_dtype_is_restored_after_an_error() -> None:
    before = torch.get_default_dtype()
    with pytest.raises(ZeroDivisionError), use_default_dtype(torch.float64):
        assert torch.get_default_dtype() == torch.float64
        raise ZeroDivisionError
    assert torch.get_default_dtype() == before


def test_build_model_on_meta_holds_shapes_only(config: dict[str, Any]) -> None:
    model = build_model(config, None, device="meta")
    tensors = [*model.parameters(), *model.buffers(), model.decoder.generator.stft.window]
    assert {str(tensor.device) for tensor in tensors} == {"meta"}
    assert not model.training and not any(parameter.requires_grad for parameter in model.parameters())


def test_build_model_folds_weights_and_can_be_copied(model: Any, state: dict[str, torch.Tensor]) -> None:
    copied = copy.deepcopy(model)
    name = "decoder.generator.conv_post"
    folded = torch._weight_norm(state[f"{name}.weight_v"], state[f"{name}.weight_g"], 0)
    assert torch.equal(copied.decoder.generator.conv_post.weight, folded)


def test_build_model_copies_the_state(config: dict[str, Any], state: dict[str, torch.Tensor]) -> None:
    fresh = build_model(config, state)
    with torch.no_grad():
        fresh.bert_encoder.bias.add_(1.0)
    assert not torch.equal(fresh.bert_encoder.bias, state["bert_encoder.bias"])


def test_build_model_refuses_a_state_of_other_shapes(
    config: dict[str, Any], state: dict[str, torch.Tensor]
) -> None:
    partial = {key: value for key, value in state.items() if key != "bert_encoder.bias"}
    with pytest.raises(BuildError, match=r"bert_encoder\.bias"):
        build_model(config, partial)


def test_shipped_config_is_the_published_one() -> None:
    digest = hashlib.sha256(kokoro.SHIPPED_CONFIG.read_bytes()).hexdigest()
    assert digest == "5abb01e2403b072bf03d04fde160443e209d7a0dad49a423be15196b9b43c17f"
    assert len(kokoro.load_shipped_config()["vocab"]) == 114


def test_load_config_refuses_an_empty_folder(tmp_path: Any) -> None:
    for load in (load_state, load_config):
        with pytest.raises(BuildError, match="no checkpoint in"):
            load(tmp_path)
