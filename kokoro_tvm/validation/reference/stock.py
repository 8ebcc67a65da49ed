"""Run the stock KModel on one utterance and record its intermediate values. Needs torch.

`KModel.forward_with_tokens` runs unmodified. Forward hooks at the borders of the components record values
and, in a fed run, replace them. One `TorchFunctionMode` supplies the noise, another one computes the
decoder's float64 convolutions faster. Hooks, modes, default dtype and random state are restored
after the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.weight_norm import WeightNorm
from torch.overrides import TorchFunctionMode

from kokoro_tvm.common.constants import NOISE_CHANNELS, STYLE_DIM
from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.model.kokoro import build_model, use_default_dtype
from kokoro_tvm.validation.reference.convolution import MatrixConvolution
from kokoro_tvm.validation.reference.reference import DYNAMIC, TRUTH, Outputs, ReferenceTrace, frame_counts
from kokoro_tvm.validation.reference.steps import Steps

_DTYPES = {TRUTH: torch.float64, DYNAMIC: torch.float32}

Config = Mapping[str, Any]
State = Mapping[str, torch.Tensor]
Array = NDArray[Any]
Draw = Callable[[int], NDArray[np.float32]]


def stock_model(config: Config, state: State, regime: str) -> torch.nn.Module:
    """Build the stock KModel on the CPU in the dtype of a regime ("pt.float64" or "pt.dynamic")."""
    # The function that would apply weight norm in every run applies it here once.
    model = build_model(config, state, dtype=_DTYPES[regime])
    for module in model.modules():
        if any(isinstance(hook, WeightNorm) for hook in module._forward_pre_hooks.values()):
            torch.nn.utils.remove_weight_norm(module)
    return model.requires_grad_(False)


@contextmanager
def use_model_dtype(model: torch.nn.Module) -> Iterator[None]:
    """Within the block, make a model's dtype torch's default, and its float64 convolutions fast."""
    # The fork keeps the caller's random stream: the model draws an initial phase with torch.rand, which its
    # output does not depend on.
    dtype = next(model.parameters()).dtype
    with use_default_dtype(dtype), torch.random.fork_rng(devices=[]), MatrixConvolution(model.decoder):
        yield


def round_borders(run: ReferenceTrace) -> ReferenceTrace:
    """Round the values at the borders of components to float32: the inputs of a validated artifact."""
    borders: dict[str, Any] = {
        name: np.ascontiguousarray(getattr(run, name), dtype=np.float32)
        for name in ("d_en", "en", "asr", "f0", "n")
    }
    return replace(run, **borders)


def run_stock(
    model: torch.nn.Module, tokens: Array, ref_s: Array, speed: float, draw: Draw
) -> ReferenceTrace:
    """Run the model end to end in its own dtype.

    Args:
        model: A stock model.
        tokens: (1, T) int64.
        ref_s: (1, 256).
        speed: Factor of the speaking rate.
        draw: Returns the source's noise, (samples,) float32, once the durations are known.

    Raises:
        ValidationError: The model does not behave as the pinned version of kokoro does.
    """
    seen, durations = _run(model, tokens, ref_s, speed, draw, None)
    return ReferenceTrace(
        **{k: seen[k] for k in ("d_en", "duration", "d", "t_en", "f0", "n", "audio", "en", "asr")},
        durations=durations,
    )


def run_steps(model: torch.nn.Module, tokens: Array, ref_s: Array, speed: float, draw: Draw) -> Steps:
    """Run the model end to end and record every step; arguments are those of `run_stock`."""
    with _record_stages(model.decoder) as stages:
        seen, durations = _run(model, tokens, ref_s, speed, draw, None)
    regime = next(name for name, dtype in _DTYPES.items() if dtype == next(model.parameters()).dtype)
    alignment = np.repeat(np.arange(durations.size), durations)
    return Steps(regime, seen | stages | {"pred_dur": durations, "alignment": alignment})


@contextmanager
def _record_stages(decoder: Any) -> Iterator[dict[str, Array]]:
    """Record the values between the modules inside the decoder within the block.

    Yields:
        Values by step name, with time last: source, encode, decode.*, generator.* and spectrum (see `STEPS`).
    """
    # The generator averages the residual blocks of a stage.
    generator, count = decoder.generator, decoder.generator.num_kernels
    seen: dict[str, Array] = {}

    def source(out: Any) -> None:
        """Record the source's excitation."""
        seen["source"] = _copy_array(out[0][..., 0])  # of (1, samples, 1) and two unused tensors

    def see(name: str, out: torch.Tensor) -> None:
        """Record a value by its step name."""
        seen[name] = _copy_array(out)

    def add(name: str, out: torch.Tensor) -> None:
        """Add a residual block's share to the average of its stage."""
        before = seen.get(name)
        see(name, (1.0 / count) * out)
        if before is not None:
            seen[name] += before

    watched: list[tuple[Any, Callable[[Any], None]]] = [
        (generator.m_source, source),
        (decoder.encode, partial(see, "encode")),
        (generator.conv_post, partial(see, "spectrum")),
    ]
    watched += [(block, partial(see, f"decode.{i}")) for i, block in enumerate(decoder.decode)]
    watched += [
        (block, partial(add, f"generator.{i // count}")) for i, block in enumerate(generator.resblocks)
    ]
    with ExitStack() as scope:
        for module, look in watched:
            scope.enter_context(_hook_output(module, look))
        yield seen


def _hook_output(module: torch.nn.Module, look: Callable[[Any], None]) -> Any:
    """Register a forward hook that passes a module's output to `look`."""
    return module.register_forward_hook(lambda _module, _args, out: look(out))


def run_fed(
    model: torch.nn.Module, tokens: Array, ref_s: Array, speed: float, draw: Draw, borders: ReferenceTrace
) -> Outputs:
    """Run the model with every component reading its inputs from `borders`.

    With borders of `round_borders`, these are the inputs that an artifact is validated with. Other arguments
    and errors are those of `run_stock`.
    """
    seen, _ = _run(model, tokens, ref_s, speed, draw, borders)
    return Outputs(**{k: seen[k] for k in ("d_en", "duration", "d", "t_en", "f0", "n", "audio")})


def _run(
    model: torch.nn.Module,
    tokens: Array,
    ref_s: Array,
    speed: float,
    draw: Draw,
    borders: ReferenceTrace | None,
) -> tuple[dict[str, Array], NDArray[np.int64]]:
    """Run the model; return the values at the borders of components by name, and the durations.

    If there are `borders`, every component reads its inputs from them. Raises ValidationError if the
    model is not the pinned one.
    """
    dtype = next(model.parameters()).dtype
    seen: dict[str, Array] = {}
    noise = SourceNoise(draw, model.decoder)
    with ExitStack() as scope:
        scope.enter_context(use_model_dtype(model))
        scope.enter_context(_hook_borders(model, seen, borders, dtype))
        scope.enter_context(noise)
        audio, counts = model.forward_with_tokens(
            torch.from_numpy(tokens), torch.from_numpy(ref_s).to(dtype), speed
        )
    if noise.draws != 1:
        raise ValidationError(
            f"The stock model drew its source noise {noise.draws} times instead of once: this is not the "
            "KModel the references are known for. Install the pinned version of kokoro."
        )
    seen["audio"] = _copy_array(audio)
    durations: NDArray[np.int64] = counts.reshape(-1).numpy().astype(np.int64)
    if not np.array_equal(durations, frame_counts(seen["duration"], speed)):
        raise ValidationError(
            "The stock model's frame counts are not its durations rounded, at least one: this is not the "
            "KModel the references are known for. Install the pinned version of kokoro."
        )
    return seen, durations


def run_decoder(model: Any, inputs: ReferenceTrace, ref_s: Array, draw: Draw) -> Array:
    """Run the decoder alone on asr, f0 and n of `inputs`; returns the audio, (600F,)."""
    dtype = next(model.parameters()).dtype
    tensors = [torch.from_numpy(value).to(dtype) for value in (inputs.asr, inputs.f0, inputs.n)]
    style = torch.from_numpy(ref_s[:, :STYLE_DIM]).to(dtype)
    with torch.no_grad(), use_model_dtype(model), SourceNoise(draw, model.decoder):
        return _copy_array(model.decoder(*tensors, style).reshape(-1))


@contextmanager
def _hook_borders(
    model: torch.nn.Module, seen: dict[str, Array], borders: ReferenceTrace | None, dtype: torch.dtype
) -> Iterator[None]:
    """Record every component's outputs in `seen`, and replace their inputs by `borders` if given."""

    def see(name: str, value: torch.Tensor) -> None:
        """Record a value."""
        seen[name] = _copy_array(value)

    def border(value: Array) -> torch.Tensor:
        """Convert a border's value to a tensor in the model's dtype."""
        return torch.from_numpy(value).to(dtype)

    def bert(_module: torch.nn.Module, _args: Any, out: torch.Tensor) -> torch.Tensor | None:
        """Record the text features, and replace them by the border's."""
        see("d_en", out.transpose(-1, -2))
        return border(borders.d_en).transpose(-1, -2) if borders else None

    def prosody(_module: torch.nn.Module, _args: Any, out: torch.Tensor) -> None:
        """Record the prosody features."""
        see("d", out.transpose(-1, -2))

    def logits(_module: torch.nn.Module, _args: Any, out: torch.Tensor) -> None:
        """Record the durations and their logits."""
        # The one line of the forward that no module's border shows: `_run` checks it by the model's counts.
        see("duration", torch.sigmoid(out).sum(dim=-1))
        see("logits", out.transpose(-1, -2))

    def aligned(_module: torch.nn.Module, args: tuple[torch.Tensor]) -> tuple[torch.Tensor] | None:
        """Record the aligned features, and replace them by the border's."""
        see("en", args[0].transpose(-1, -2))
        return (border(borders.en).transpose(-1, -2),) if borders else None

    def text(_module: torch.nn.Module, _args: Any, out: torch.Tensor) -> None:
        """Record the text encoding."""
        see("t_en", out)

    def decoder(_module: torch.nn.Module, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...] | None:
        """Record the decoder's inputs, and replace them by the border's."""
        for name, value in zip(("asr", "f0", "n"), args, strict=False):
            see(name, value)
        if borders is None:
            return None
        return border(borders.asr), border(borders.f0), border(borders.n), args[3]

    predictor = model.predictor
    with (
        model.bert_encoder.register_forward_hook(bert),
        predictor.text_encoder.register_forward_hook(prosody),
        predictor.duration_proj.register_forward_hook(logits),
        predictor.shared.register_forward_pre_hook(aligned),
        model.text_encoder.register_forward_hook(text),
        model.decoder.register_forward_pre_hook(decoder),
    ):
        yield


class SourceNoise(TorchFunctionMode):
    """Torch function mode that supplies the noise of a decoder's source, on the current thread only.

    The source calls `torch.randn_like` twice: (1, samples, 9) inside SineGen, which is audible, and
    (1, samples, 1) for an unused branch, which gets zeros. Any other call raises ValidationError.
    """

    def __init__(self, draw: Draw, decoder: Any) -> None:
        super().__init__()
        self.draw = draw
        self._weight = decoder.generator.m_source.l_linear.weight
        self.draws = 0

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is not torch.randn_like:
            return func(*args, **(kwargs or {}))
        like: torch.Tensor = args[0]
        match tuple(like.shape):
            case (1, _, 1):
                return torch.zeros_like(like)
            case (1, samples, channels) if channels == NOISE_CHANNELS:
                self.draws += 1
                return nine_channels(self._draw_noise(samples).to(like.dtype), self._weight)
            case shape:
                raise ValidationError(
                    f"The stock model drew normal noise of shape {shape}, which no reference knows."
                )

    def _draw_noise(self, samples: int) -> torch.Tensor:
        """Draw noise (1, samples). Raises ValidationError if `draw` returns another shape."""
        noise = np.ascontiguousarray(self.draw(samples), dtype=np.float32)
        if noise.shape != (samples,):
            raise ValidationError(f"The noise has shape {noise.shape} instead of {(samples,)}.")
        return torch.from_numpy(noise)[None]


class ExactPhases(TorchFunctionMode):
    """Torch function mode in which `torch.angle` is 0 or pi for bins that are real in exact arithmetic."""

    # The excitation's spectra (1, bins, frames) are real at DC and Nyquist. In the first frame all bins are
    # real, because the signal is mirrored about its first sample. Their imaginary part is a rounding error,
    # whose sign decides between the phases pi and -pi of a negative bin.

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is not torch.angle:
            return func(*args, **(kwargs or {}))
        spectra: torch.Tensor = args[0].clone()
        spectra.imag[:, [0, -1]] = 0.0
        spectra.imag[..., 0] = 0.0
        return func(spectra)


def nine_channels(noise: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Spread one channel of noise over the nine channels of the stock source.

    The stock source's linear layer sums them to the noise times the norm of its weights, as the patched
    source does with the one channel.

    Args:
        noise: (1, samples).
        weight: (1, 9), of the linear layer.

    Returns:
        (1, samples, 9).
    """
    return noise[..., None] * (weight[0] / torch.linalg.vector_norm(weight)).to(noise.dtype)


def _copy_array(tensor: torch.Tensor) -> Array:
    """Copy a tensor to a contiguous array, because the model changes some tensors in place."""
    return np.array(tensor.detach().cpu().numpy(), order="C", copy=True)
