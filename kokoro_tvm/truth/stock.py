"""Runs the stock KModel for one utterance and reads its intermediates out of its own forward (torch).

Nothing of the model's forward is written again here. `KModel.forward_with_tokens` runs as it is; forward
hooks at the borders of the components read what passes, and in a fed run put something else in its place; one
`TorchFunctionMode` answers the one random draw that is heard, another computes the
decoder's float64 convolutions faster. Hooks, modes, default dtype and torch's random state are all given back
when the run ends, also by an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.weight_norm import WeightNorm
from torch.overrides import TorchFunctionMode

from kokoro_tvm.constants import NOISE_CHANNELS, STYLE_DIM
from kokoro_tvm.errors import ValidationError
from kokoro_tvm.model.kokoro import build_model, default_dtype
from kokoro_tvm.truth.convolution import MatrixConvolution
from kokoro_tvm.truth.reference import DYNAMIC, TRUTH, Outputs, Trace, frame_counts
from kokoro_tvm.truth.steps import Steps

__all__ = [
    "Borders",
    "GivenNoise",
    "StageHooks",
    "computing",
    "nine_channels",
    "run_decoder",
    "run_fed",
    "run_steps",
    "run_stock",
    "stock_model",
]

_DTYPES = {TRUTH: torch.float64, DYNAMIC: torch.float32}

Config = Mapping[str, Any]
State = Mapping[str, torch.Tensor]
Array = NDArray[Any]
Draw = Callable[[int], NDArray[np.float32]]


def stock_model(config: Config, state: State, regime: str) -> torch.nn.Module:
    """The stock KModel in a regime's dtype ("pt.float64" or "pt.dynamic"), on the CPU, ready to run.

    Weights are normed once, by the function that would norm them again in every run.
    """
    model = build_model(config, state, dtype=_DTYPES[regime])
    for module in model.modules():
        if any(isinstance(hook, WeightNorm) for hook in module._forward_pre_hooks.values()):
            torch.nn.utils.remove_weight_norm(module)
    return model.requires_grad_(False)


@contextmanager
def computing(model: torch.nn.Module) -> Iterator[None]:
    """Within the block, the model or a part of it computes in its own dtype, float64 convolutions fast.

    What the model draws does not move the caller's random stream: the initial phase by `torch.rand` is never
    heard.
    """
    dtype = next(model.parameters()).dtype
    with default_dtype(dtype), torch.random.fork_rng(devices=[]), MatrixConvolution(model.decoder):
        yield


@dataclass(frozen=True, eq=False)
class Borders:
    """What stands at the components' borders in a fed run, float32, shapes as in `Trace`."""

    d_en: torch.Tensor
    en: torch.Tensor
    asr: torch.Tensor
    f0: torch.Tensor
    n: torch.Tensor

    @classmethod
    def of(cls, trace: Trace) -> Borders:
        """A run's intermediates, rounded to float32."""
        return cls(
            *(
                torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))
                for array in (trace.d_en, trace.en, trace.asr, trace.f0, trace.n)
            )
        )


def run_stock(model: torch.nn.Module, tokens: Array, ref_s: Array, speed: float, draw: Draw) -> Trace:
    """One end-to-end run, in the model's own dtype.

    `tokens` (1, T) int64, `ref_s` (1, 256), `draw(samples)` gives the source's noise (samples,)
    float32 once the durations are known. Raises ValidationError when the stock model does not behave as
    it is known to.
    """
    seen, durations = _run(model, tokens, ref_s, speed, draw, None)
    return Trace(
        **{k: seen[k] for k in ("d_en", "duration", "d", "t_en", "f0", "n", "audio", "en", "asr")},
        durations=durations,
    )


def run_steps(model: torch.nn.Module, tokens: Array, ref_s: Array, speed: float, draw: Draw) -> Steps:
    """One end-to-end run with everything inside the decoder as well; arguments as `run_stock`."""
    with StageHooks(model.decoder) as stages:
        seen, durations = _run(model, tokens, ref_s, speed, draw, None)
    regime = next(name for name, dtype in _DTYPES.items() if dtype == next(model.parameters()).dtype)
    alignment = np.repeat(np.arange(durations.size), durations)
    return Steps(regime, seen | stages.values() | {"pred_dur": durations, "alignment": alignment})


class StageHooks:
    """While entered, reads what passes between the modules inside a decoder, stock or patched.

    channels_last: a patched one, whose blocks have time before channels; the values have time last either
    way. (The stock generator averages the residual blocks of a stage; patched blocks give their share.)
    """

    def __init__(self, decoder: Any, channels_last: bool = False) -> None:
        self._decoder, self._last = decoder, channels_last
        self._seen: dict[str, Array] = {}
        self._handles: list[Any] = []

    def values(self) -> dict[str, Array]:
        """source, encode, decode.*, generator.* and, of a stock decoder, spectrum: see `steps.STEPS`."""
        return dict(self._seen)

    def __enter__(self) -> StageHooks:
        decoder, generator = self._decoder, self._decoder.generator
        try:
            self._hook(generator.m_source, self._source)
            for name, block in (("encode", decoder.encode), *self._numbered("decode", decoder.decode)):
                self._hook(block, partial(self._see, name))
            count = generator.num_kernels
            for index, block in enumerate(generator.resblocks):
                share = 1.0 if self._last else 1.0 / count
                self._hook(block, partial(self._add, f"generator.{index // count}", share))
            if not self._last:
                self._hook(generator.conv_post, partial(self._see, "spectrum"))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()

    @staticmethod
    def _numbered(name: str, blocks: Any) -> list[tuple[str, Any]]:
        return [(f"{name}.{i}", block) for i, block in enumerate(blocks)]

    def _hook(self, module: torch.nn.Module, see: Callable[[Any], None]) -> None:
        self._handles.append(module.register_forward_hook(lambda _module, _args, out: see(out)))

    def _source(self, out: Any) -> None:
        # The stock module gives (1, samples, 1) and two more that nobody reads, the patched one (1, samples).
        self._seen["source"] = _numpy(out if self._last else out[0][..., 0])

    def _see(self, name: str, out: torch.Tensor) -> None:
        self._seen[name] = _numpy(out.transpose(1, 2) if self._last else out)

    def _add(self, name: str, share: float, out: torch.Tensor) -> None:
        before = self._seen.get(name)
        self._see(name, share * out)
        if before is not None:
            self._seen[name] += before


def run_fed(
    model: torch.nn.Module,
    tokens: Array,
    ref_s: Array,
    speed: float,
    draw: Draw,
    borders: Borders,
    own: Outputs | None = None,
) -> Outputs:
    """One run with every component fed from `borders`, whatever the one before it gave; else `run_stock`.

    All five components answer in the one pass, each for the inputs an artifact is validated with. `own`: an
    earlier run of this model on these tokens, whose d_en and t_en are taken as they are, because tokens are
    all that bert and the text encoder are given.
    """
    with ExitStack() as scope:
        if own is not None:
            d_en, t_en = torch.from_numpy(own.d_en).transpose(-1, -2), torch.from_numpy(own.t_en)
            scope.enter_context(_answering(model.bert, None))
            scope.enter_context(_answering(model.bert_encoder, d_en))
            scope.enter_context(_answering(model.text_encoder, t_en))
        seen, _ = _run(model, tokens, ref_s, speed, draw, borders)
    return Outputs(**{k: seen[k] for k in ("d_en", "duration", "d", "t_en", "f0", "n", "audio")})


def _run(
    model: torch.nn.Module, tokens: Array, ref_s: Array, speed: float, draw: Draw, borders: Borders | None
) -> tuple[dict[str, Array], NDArray[np.int64]]:
    dtype = next(model.parameters()).dtype
    seen: dict[str, Array] = {}
    noise = GivenNoise(draw, model.decoder)
    with ExitStack() as scope:
        scope.enter_context(computing(model))
        scope.enter_context(_hooks(model, seen, borders, dtype))
        scope.enter_context(noise)
        audio, counts = model.forward_with_tokens(
            torch.from_numpy(tokens), torch.from_numpy(ref_s).to(dtype), speed
        )
    if noise.draws != 1:
        raise ValidationError(
            f"The stock model drew its source noise {noise.draws} times instead of once: this is not the "
            "KModel the references are known for. Install the pinned version of kokoro."
        )
    seen["audio"] = _numpy(audio)
    durations: NDArray[np.int64] = counts.reshape(-1).numpy().astype(np.int64)
    if not np.array_equal(durations, frame_counts(seen["duration"], speed)):
        raise ValidationError(
            "The stock model's frame counts are not its durations rounded, at least one: this is not the "
            "KModel the references are known for. Install the pinned version of kokoro."
        )
    return seen, durations


def run_decoder(model: Any, inputs: Trace | Borders, ref_s: Array, draw: Draw) -> Array:
    """The decoder alone, on asr, f0 and n of `inputs`: audio (600F,). Else as `run_stock`."""
    dtype = next(model.parameters()).dtype
    given = [torch.as_tensor(value).to(dtype) for value in (inputs.asr, inputs.f0, inputs.n)]
    style = torch.from_numpy(ref_s[:, :STYLE_DIM]).to(dtype)
    with torch.no_grad(), computing(model), GivenNoise(draw, model.decoder):
        return _numpy(model.decoder(*given, style).reshape(-1))


@contextmanager
def _answering(module: torch.nn.Module, answer: torch.Tensor | None) -> Iterator[None]:
    """Within the block, the module returns `answer` and computes nothing."""
    module.forward = lambda *_args, **_kwargs: answer  # shadows the class's
    try:
        yield
    finally:
        del module.forward


@contextmanager
def _hooks(
    model: torch.nn.Module, seen: dict[str, Array], borders: Borders | None, dtype: torch.dtype
) -> Iterator[None]:
    """Read every component's outputs into `seen`; feed the components from `borders` if there are any."""

    def see(name: str, value: torch.Tensor) -> None:
        seen[name] = _numpy(value)

    def bert(_module: torch.nn.Module, _args: Any, out: torch.Tensor) -> torch.Tensor | None:
        see("d_en", out.transpose(-1, -2))
        return borders.d_en.to(dtype).transpose(-1, -2) if borders else None

    def prosody(_module: torch.nn.Module, _args: Any, out: torch.Tensor) -> None:
        see("d", out.transpose(-1, -2))

    def logits(_module: torch.nn.Module, _args: Any, out: torch.Tensor) -> None:
        # The one line of the forward that no module's border shows: `_run` checks it by the model's counts.
        see("duration", torch.sigmoid(out).sum(dim=-1))
        see("logits", out.transpose(-1, -2))

    def aligned(_module: torch.nn.Module, args: tuple[torch.Tensor]) -> tuple[torch.Tensor] | None:
        see("en", args[0].transpose(-1, -2))
        return (borders.en.to(dtype).transpose(-1, -2),) if borders else None

    def text(_module: torch.nn.Module, _args: Any, out: torch.Tensor) -> None:
        see("t_en", out)

    def decoder(_module: torch.nn.Module, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...] | None:
        for name, value in zip(("asr", "f0", "n"), args, strict=False):
            see(name, value)
        return (
            (borders.asr.to(dtype), borders.f0.to(dtype), borders.n.to(dtype), args[3]) if borders else None
        )

    predictor = model.predictor
    handles: list[Any] = []
    try:
        handles.append(model.bert_encoder.register_forward_hook(bert))
        handles.append(predictor.text_encoder.register_forward_hook(prosody))
        handles.append(predictor.duration_proj.register_forward_hook(logits))
        handles.append(predictor.shared.register_forward_pre_hook(aligned))
        handles.append(model.text_encoder.register_forward_hook(text))
        handles.append(model.decoder.register_forward_pre_hook(decoder))
        yield
    finally:
        for handle in handles:
            handle.remove()


class GivenNoise(TorchFunctionMode):
    """While entered, answers `torch.randn_like` of a decoder's source with given noise, on this thread alone.

    The source draws twice: (1, samples, 9) inside SineGen, which is heard, and (1, samples, 1) for a noise
    branch that nothing reads, which gets zeros. Any other draw raises ValidationError: it would go unnoticed
    otherwise.
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
                return nine_channels(self._given(samples).to(like.dtype), self._weight)
            case shape:
                raise ValidationError(
                    f"The stock model drew normal noise of shape {shape}, which no reference knows."
                )

    def _given(self, samples: int) -> torch.Tensor:
        noise = np.ascontiguousarray(self.draw(samples), dtype=np.float32)
        if noise.shape != (samples,):
            raise ValidationError(f"Noise of shape {(samples,)} was due and {noise.shape} was given.")
        return torch.from_numpy(noise)[None]


def nine_channels(noise: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """One channel of noise (1, samples) as nine (1, samples, 9) that the stock source, whose linear layer has
    `weight` (1, 9), sums to what the patched one makes of the one: the norm of the weights times it."""
    return noise[..., None] * (weight[0] / torch.linalg.vector_norm(weight)).to(noise.dtype)


def _numpy(tensor: torch.Tensor) -> Array:
    """A contiguous copy: the model goes on to change some of its tensors in place."""
    return np.array(tensor.detach().cpu().numpy(), order="C", copy=True)
