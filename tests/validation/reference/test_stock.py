"""The stock model's runs: true to its own forward, and nothing left behind."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from kokoro_tvm.common.errors import RecipeError, ValidationError
from kokoro_tvm.common.noise import draw_noise
from kokoro_tvm.model.kokoro import build_model, use_default_dtype
from kokoro_tvm.recipe.parts import UtteranceSpec
from kokoro_tvm.validation.measure.metrics import snr_db
from kokoro_tvm.validation.reference.compute import compute_references, tokenize
from kokoro_tvm.validation.reference.reference import DYNAMIC, TRUTH, Reference
from kokoro_tvm.validation.reference.stock import (
    ExactPhases,
    nine_channels,
    round_borders,
    run_decoder,
    run_fed,
    run_stock,
    stock_model,
)


@pytest.fixture(scope="module")
def model(config: dict[str, Any], state: dict[str, torch.Tensor]) -> torch.nn.Module:
    return stock_model(config, state, DYNAMIC)


def source_weight(model: torch.nn.Module) -> torch.Tensor:
    return model.decoder.generator.m_source.l_linear.weight.detach()


def hooks(model: torch.nn.Module) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def differing(first: Any, second: Any) -> set[str]:
    return {
        f.name for f in fields(first) if not np.array_equal(getattr(first, f.name), getattr(second, f.name))
    }


def test_the_run_is_the_models_own_forward(
    model: torch.nn.Module, references: list[Reference], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second way to the same: the draw replaced in torch itself, no hook, no mode."""
    for r in references:
        noise = nine_channels(torch.from_numpy(r.noise()), source_weight(model))
        monkeypatch.setattr(torch, "randn_like", lambda x, noise=noise: noise if x.shape[-1] == 9 else x)
        audio, counts = model.forward_with_tokens(
            torch.from_numpy(r.tokens), torch.from_numpy(r.ref_s), r.speed
        )
        monkeypatch.undo()
        np.testing.assert_array_equal(counts.numpy(), r.dynamic.durations)
        np.testing.assert_allclose(r.dynamic.audio, audio.numpy(), atol=1e-6)


def test_what_is_captured_fits_together(references: list[Reference]) -> None:
    for r in references:
        for trace in (r.truth, r.dynamic):
            index = np.repeat(np.arange(trace.durations.size), trace.durations)
            np.testing.assert_array_equal(trace.en, trace.d[:, :, index])
            np.testing.assert_array_equal(trace.asr, trace.t_en[:, :, index])
            assert trace.audio.shape == (600 * trace.durations.sum(),)
            assert trace.f0.shape == trace.n.shape == (1, 2 * trace.durations.sum())
            assert trace.duration.shape == (1, r.length("tokens"))
            assert np.abs(trace.audio).max() > 1e-3
        for trace, real in ((r.truth, np.float64), (r.dynamic, np.float32)):
            dtypes = {f.name: getattr(trace, f.name).dtype for f in fields(trace)}
            assert dtypes.pop("durations") == np.int64
            assert set(dtypes.values()) == {np.dtype(real)}


def test_float64_is_double_all_the_way(references: list[Reference]) -> None:
    """Were any part of the truth in float32, a fed run could not come nearer than 150 dB to it."""
    for r in references:
        assert snr_db(r.fed_truth.d_en, r.truth.d_en) > 280
        assert snr_db(r.fed_truth.t_en, r.truth.t_en) > 280
        for name in ("d_en", "duration", "d", "t_en", "f0", "n"):
            assert 90 < snr_db(getattr(r.fed_dynamic, name), getattr(r.fed_truth, name)) < 180
            rounded = getattr(r.truth, name).astype(np.float32)
            assert snr_db(rounded, getattr(r.truth, name)) < 180


def test_speed_divides_the_durations(references: list[Reference]) -> None:
    (r,) = (r for r in references if r.speed != 1.0)
    expected = np.maximum(1, np.rint(r.truth.duration[0] / r.speed))
    np.testing.assert_array_equal(r.truth.durations, expected)
    assert not np.array_equal(expected, np.maximum(1, np.rint(r.truth.duration[0])))


def test_the_seed_decides_and_torchs_random_state_does_not(
    model: torch.nn.Module, references: list[Reference]
) -> None:
    r = references[0]
    run = partial(run_stock, model, r.tokens, r.ref_s, r.speed)
    audio = []
    for torch_seed, seed in ((1, 0), (2, 0), (1, 9)):
        torch.manual_seed(torch_seed)
        before = torch.get_rng_state()
        audio.append(run(partial(draw_noise, seed)).audio)
        assert torch.equal(torch.get_rng_state(), before)
    np.testing.assert_array_equal(audio[0], audio[1])
    assert snr_db(audio[2], audio[0]) < 60


def relative(value: np.ndarray, want: np.ndarray) -> float:
    return float(np.abs(value - want).max() / np.abs(want).max())


def test_the_truth_is_the_stock_model_untouched(
    config: dict[str, Any],
    state: dict[str, torch.Tensor],
    references: list[Reference],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing of this package between: `KModel`'s own forward, weight norm and PyTorch's convolutions.

    All that decides about phases is equal to the last bit; behind it, sums are taken in another order.
    """
    model = build_model(config, state, dtype=torch.float64)
    seen: dict[str, np.ndarray] = {}

    def see(module: Any, args: tuple[torch.Tensor, ...], audio: torch.Tensor) -> None:
        seen.update(zip(("asr", "f0", "n"), (value.numpy() for value in args), strict=False))

    for r in references:
        noise = nine_channels(torch.from_numpy(r.noise()).double(), source_weight(model))
        monkeypatch.setattr(torch, "randn_like", lambda x, noise=noise: noise if x.shape[-1] == 9 else x)
        style = torch.from_numpy(r.ref_s).double()
        with use_default_dtype(torch.float64):
            with model.decoder.register_forward_hook(see):
                audio, _ = model.forward_with_tokens(torch.from_numpy(r.tokens), style, r.speed)
            rounded = [torch.from_numpy(r.inputs("decoder")[name]).double() for name in seen]
            fed = model.decoder(*rounded, style[:, :128])
        monkeypatch.undo()
        for name, value in seen.items():
            np.testing.assert_array_equal(getattr(r.truth, name), value)
        assert relative(r.truth.audio, audio.numpy()) < 1e-12
        assert relative(r.fed_truth.audio, fed.reshape(-1).numpy()) < 1e-12


def test_the_decoder_alone_is_the_decoder_of_a_whole_run(
    config: dict[str, Any], state: dict[str, torch.Tensor], references: list[Reference]
) -> None:
    model = stock_model(config, state, TRUTH)
    for r in references:
        np.testing.assert_array_equal(run_decoder(model, r.truth, r.ref_s, r.draw), r.truth.audio)
        fed = run_decoder(model, round_borders(r.truth), r.ref_s, r.draw)
        np.testing.assert_array_equal(fed, r.fed_truth.audio)


def test_a_fed_component_answers_for_itself_alone(
    model: torch.nn.Module, references: list[Reference]
) -> None:
    r = references[0]
    borders = round_borders(r.truth)
    run = partial(run_fed, model, r.tokens, r.ref_s, r.speed, partial(draw_noise, r.seed))
    whole = run(borders)
    assert differing(run(borders), whole) == set()
    changes = {
        "d_en": {"duration", "d"},
        "en": {"f0", "n"},
        "asr": {"audio"},
        "f0": {"audio"},
        "n": {"audio"},
    }
    for border, outputs in changes.items():
        changed = replace(borders, **{border: 1.5 * getattr(borders, border)})
        assert differing(run(changed), whole) == outputs


def test_a_fed_run_keeps_its_length_when_durations_go_astray(
    model: torch.nn.Module, references: list[Reference]
) -> None:
    r = references[0]
    borders = round_borders(r.truth)
    astray = replace(borders, d_en=-20 * borders.d_en)
    fed = run_fed(model, r.tokens, r.ref_s, r.speed, partial(draw_noise, r.seed), astray)
    assert not np.array_equal(np.maximum(1, np.rint(fed.duration[0])), r.truth.durations)
    assert fed.audio.shape == r.truth.audio.shape


@pytest.mark.parametrize("regime", [DYNAMIC, TRUTH])
def test_everything_is_given_back_after_an_exception(
    regime: str, config: dict[str, Any], state: dict[str, torch.Tensor], references: list[Reference]
) -> None:
    model = stock_model(config, state, regime)
    r, before = references[0], hooks(model)
    dtype, draw, random = torch.get_default_dtype(), torch.randn_like, torch.get_rng_state()
    requested: list[int] = []

    def interrupted(samples: int) -> np.ndarray:
        requested.append(samples)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_stock(model, r.tokens, r.ref_s, r.speed, interrupted)
    assert requested == [600 * r.frames]
    assert hooks(model) == before
    assert torch.get_default_dtype() == dtype
    assert torch.randn_like is draw
    assert torch.randn_like(torch.zeros(1, 7, 1)).abs().max() > 0
    torch.set_rng_state(random)


def test_noise_of_another_shape_is_refused(model: torch.nn.Module, references: list[Reference]) -> None:
    r = references[0]
    with pytest.raises(ValidationError, match=r"The noise has shape \(1,\) instead of \(\d+,\)"):
        run_stock(model, r.tokens, r.ref_s, r.speed, lambda samples: draw_noise(0, 1))


@pytest.mark.parametrize(
    ("shape", "message"), [((1, 8, 9), "2 times instead of once"), ((3, 3), r"noise of shape \(3, 3\)")]
)
def test_a_draw_the_reference_does_not_know_is_noticed(
    model: torch.nn.Module, references: list[Reference], shape: tuple[int, ...], message: str
) -> None:
    r = references[0]

    def draw_more(*_: Any) -> None:
        torch.randn_like(torch.zeros(shape))

    source = model.decoder.generator.m_source.l_sin_gen
    with source.register_forward_hook(draw_more), pytest.raises(ValidationError, match=message):
        run_stock(model, r.tokens, r.ref_s, r.speed, partial(draw_noise, r.seed))


def test_tokens_have_boundaries_and_known_symbols(config: dict[str, Any]) -> None:
    vocabulary = config["vocab"]
    assert tokenize("hˈI", vocabulary).tolist() == [[0, vocabulary["h"], vocabulary["ˈ"], vocabulary["I"], 0]]
    with pytest.raises(RecipeError, match="does not know: 7 €"):
        tokenize("h€7", vocabulary)
    with pytest.raises(RecipeError, match="no phonemes"):
        tokenize("", vocabulary)


def test_an_unknown_voice(
    config: dict[str, Any], state: dict[str, torch.Tensor], voices: dict[str, np.ndarray]
) -> None:
    with pytest.raises(RecipeError, match=r"'xx_nobody'.*af_one, bm_two"):
        compute_references(config, state, voices, [UtteranceSpec(name="a", phonemes="h", voice="xx_nobody")])


def test_the_voices_row_is_that_of_the_phonemes(
    references: list[Reference], voices: dict[str, np.ndarray]
) -> None:
    for r in references:
        np.testing.assert_array_equal(r.ref_s[0], voices[r.voice][len(r.phonemes) - 1])


def test_bins_that_are_real_have_the_phase_zero_or_pi() -> None:
    """A signal mirrored about its first sample has a real spectrum there; rounding would say pi or -pi."""
    signal = torch.from_numpy(np.random.default_rng(0).standard_normal((1, 600)))
    window = torch.hann_window(20, dtype=torch.float64)
    spectra = torch.stft(signal, 20, 5, window=window, return_complex=True)
    assert (spectra.imag[:, 1:-1, 0] != 0).any(), "rounding is there"
    before = spectra.clone()
    with ExactPhases():
        phases = torch.angle(spectra)
    assert torch.equal(spectra, before)
    real = torch.cat([phases[:, :, 0].ravel(), phases[:, [0, -1]].ravel()])
    assert set(real.tolist()) == {0.0, math.pi}
    rest = phases[:, 1:-1, 1:]
    assert torch.equal(rest, torch.angle(spectra)[:, 1:-1, 1:])


def test_only_the_choice_of_phases_differs(references: list[Reference]) -> None:
    """Rounding chose otherwise in some first frame, or the column would be for nothing."""
    pairs = [(r.exact_audio, r.truth.audio) for r in references]
    pairs += [(r.fed_exact_audio, r.fed_truth.audio) for r in references]
    for exact, truth in pairs:
        assert exact.dtype == np.float64
        assert exact.shape == truth.shape
        assert snr_db(exact, truth) > 20
    assert min(snr_db(exact, truth) for exact, truth in pairs) < 200
