"""The polynomials of kokoro_tvm.validation.measure.flops are what the stock model does, operation by
operation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

from kokoro_tvm.model.kokoro import build_model, load_shipped_config
from kokoro_tvm.validation.measure.flops import COUNTS, component_flops

Shape = tuple[int, ...]


def attention(query: Shape, key: Shape, value: Shape, *_: Any, **__: Any) -> int:
    return sdpa_flop_count(query, key, value)


def lstm(steps: Shape, input_weight: Shape, state_weight: Shape, *_: Any, **__: Any) -> int:
    """Count one direction: steps (T, 1, in), weights (4H, in) and (4H, H)."""
    return 2 * steps[0] * (input_weight[0] * input_weight[1] + state_weight[0] * state_weight[1])


# What torch computes on the CPU and its counter passes over.
UNCOUNTED = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: attention,
    torch.ops.aten.mkldnn_rnn_layer: lstm,
}


@pytest.fixture(scope="module")
def model() -> Iterator[Any]:
    from kokoro_tvm.model.synthetic import draw_state

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = load_shipped_config()
        stock: Any = build_model(config, draw_state(config, 0))
    stock.bert.pooler = None  # nothing reads what it gives
    yield stock


def calls(model: Any, tokens: int, frames: int) -> dict[str, Callable[[], Any]]:
    """Call each component of the stock model as its forward does."""
    ids, lengths = torch.zeros(1, tokens, dtype=torch.long), torch.tensor([tokens])
    mask, style = torch.zeros(1, tokens, dtype=torch.bool), torch.zeros(1, 128)
    prosody, zeros = model.predictor, torch.zeros

    def duration() -> Any:
        d = prosody.text_encoder(zeros(1, 512, tokens), style, lengths, mask)
        return prosody.duration_proj(prosody.lstm(d)[0])

    curves = zeros(1, 2 * frames), zeros(1, 2 * frames)
    return {
        "bert": lambda: model.bert_encoder(model.bert(ids, attention_mask=(~mask).int())),
        "duration": duration,
        "text_encoder": lambda: model.text_encoder(ids, lengths, mask),
        "f0n": lambda: prosody.F0Ntrain(zeros(1, 640, frames), style),
        "decoder": lambda: model.decoder(zeros(1, 512, frames), *curves, style),
    }


@pytest.mark.parametrize("tokens, frames", [(3, 2), (40, 9), (77, 16)])
@pytest.mark.parametrize("component", COUNTS)
def test_flops_equal_those_of_the_stock_model(model: Any, component: str, tokens: int, frames: int) -> None:
    counter = FlopCounterMode(display=False, custom_mapping=UNCOUNTED)
    with torch.inference_mode(), counter:
        calls(model, tokens, frames)[component]()
    assert component_flops(component, tokens, frames) == counter.get_total_flops()
