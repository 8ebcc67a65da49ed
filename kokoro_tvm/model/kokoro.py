"""The stock Kokoro model (`kokoro.KModel`, `torch.stft`) from configuration and weights, without the hub."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from kokoro_tvm.common.errors import BuildError

if TYPE_CHECKING:
    from kokoro.model import KModel

__all__ = [
    "build_model",
    "construct",
    "default_dtype",
    "expected_shapes",
    "load_config",
    "load_state",
    "shipped_config",
]

SHIPPED_CONFIG = Path(__file__).with_name("kokoro-82m.json")


def build_model(
    config: Mapping[str, Any],
    state: Mapping[str, torch.Tensor] | None,
    dtype: torch.dtype = torch.float32,
    device: str | torch.device = "cpu",
) -> KModel:
    """Builds the stock model in evaluation mode, frozen, with `disable_complex=False` (the one people hear).

    config: what `load_config` returns (hyperparameters and vocabulary).
    state: every key of `KModel.state_dict()`, any floating dtype; copied, strict. None leaves the weights as
        initialised, which is meant for device "meta": a model of shapes only (its buffers are meta as well).
    dtype: float32, or float64 for the yardstick. `KModel.forward_with_tokens` creates tensors of torch's
    default
        dtype, so run a float64 model inside `default_dtype(torch.float64)`.
    Neither the hub nor the global random state is touched. Raises BuildError when the state does not fit.
    """
    model = construct(config, torch.device(device))
    if state is not None:
        try:
            model.load_state_dict(state, strict=True)
        except RuntimeError as error:
            raise BuildError(f"the weights do not fit the model of this configuration: {error}") from error
    model.to(dtype).eval().requires_grad_(False)
    _fold_stale_weights(model)
    # TorchSTFT keeps its window as a plain attribute, which Module.to does not see.
    stft = model.decoder.generator.stft
    stft.window = torch.hann_window(stft.win_length, periodic=True, dtype=dtype, device=device)
    return model


def construct(config: Mapping[str, Any], device: torch.device) -> KModel:
    """Puts the stock submodules together as KModel.__init__ does, less its downloads; weights as initialised.

    The global random state stays as it is.
    """
    with warnings.catch_warnings():
        # weight_norm's deprecation and an LSTM dropout that does nothing: the stock classes' own business.
        warnings.simplefilter("ignore")
        from kokoro.istftnet import Decoder
        from kokoro.model import KModel
        from kokoro.modules import CustomAlbert, ProsodyPredictor, TextEncoder
        from transformers import AlbertConfig

        with torch.random.fork_rng(devices=[]), device:
            model = KModel.__new__(KModel)
            torch.nn.Module.__init__(model)
            model.vocab = dict(config["vocab"])
            model.bert = CustomAlbert(AlbertConfig(vocab_size=config["n_token"], **config["plbert"]))
            model.bert_encoder = torch.nn.Linear(model.bert.config.hidden_size, config["hidden_dim"])
            model.context_length = model.bert.config.max_position_embeddings
            model.predictor = ProsodyPredictor(
                style_dim=config["style_dim"],
                d_hid=config["hidden_dim"],
                nlayers=config["n_layer"],
                max_dur=config["max_dur"],
                dropout=config["dropout"],
            )
            model.text_encoder = TextEncoder(
                channels=config["hidden_dim"],
                kernel_size=config["text_encoder_kernel_size"],
                depth=config["n_layer"],
                n_symbols=config["n_token"],
            )
            model.decoder = Decoder(
                dim_in=config["hidden_dim"],
                style_dim=config["style_dim"],
                dim_out=config["n_mels"],
                disable_complex=False,
                **config["istftnet"],
            )
    return model


def expected_shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The keys of the stock state dict for this configuration, each with its shape."""
    model = construct(config, torch.device("meta"))
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Sets torch's default dtype within the block and puts the old one back, whatever happens."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def load_state(folder: Path) -> dict[str, torch.Tensor]:
    """Reads `weights.safetensors` of a checkpoint folder: the stock keys, float32."""
    from safetensors.torch import load_file

    return load_file(_file(folder, "weights.safetensors"))


def load_config(folder: Path) -> dict[str, Any]:
    """Reads `config.json` of a checkpoint folder: hyperparameters and vocabulary (symbol to token id)."""
    return dict(json.loads(_file(folder, "config.json").read_text(encoding="utf-8")))


def _file(folder: Path, name: str) -> Path:
    path = Path(folder) / name
    if not path.is_file():
        raise BuildError(f"no checkpoint in {folder}: {name} is missing; fetch the checkpoint again")
    return path


def shipped_config() -> dict[str, Any]:
    """The configuration of Kokoro-82M v1.0 as published, which comes with this package."""
    return dict(json.loads(SHIPPED_CONFIG.read_text(encoding="utf-8")))


def _fold_stale_weights(model: torch.nn.Module) -> None:
    """Recomputes every weight-normed `weight` from g and v.

    Old-style weight_norm refreshes it only when the module runs; until then it holds the initial values, in
    the initial dtype, tied to a gradient graph that forbids deepcopy.
    """
    from torch.nn.utils.weight_norm import WeightNorm

    for module in model.modules():
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm):
                setattr(module, hook.name, hook.compute_weight(module))
