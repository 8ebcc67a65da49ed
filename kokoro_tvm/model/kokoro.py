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

SHIPPED_CONFIG = Path(__file__).with_name("kokoro-82m.json")


def build_model(
    config: Mapping[str, Any],
    state: Mapping[str, torch.Tensor] | None,
    dtype: torch.dtype = torch.float32,
    device: str | torch.device = "cpu",
) -> KModel:
    """Build the stock model in evaluation mode, frozen, with `disable_complex=False`, the one people hear.

    Neither the hub nor the global random state is touched.

    Args:
        config: Hyperparameters and vocabulary, from `load_config`.
        state: Every key of `KModel.state_dict()`, any floating dtype; copied. None keeps initial weights, for
            device "meta": a model of shapes only.
        dtype: float32, or float64 for the reference. `KModel.forward_with_tokens` creates tensors of torch's
            default dtype: run a float64 model inside `use_default_dtype(torch.float64)`.
        device: Device of the parameters.

    Raises:
        BuildError: The state does not fit.
    """
    model = assemble_model(config, torch.device(device))
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


def assemble_model(config: Mapping[str, Any], device: torch.device) -> KModel:
    """Assemble the stock submodules as KModel.__init__ does, without its downloads; weights are initial ones.

    The global random state does not change.
    """
    with warnings.catch_warnings():
        # The stock classes warn of weight_norm's deprecation and of an LSTM dropout without effect.
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


def list_shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the keys and shapes of the stock state dict for a configuration."""
    model = assemble_model(config, torch.device("meta"))
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


@contextmanager
def use_default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Set torch's default dtype while the block runs."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def load_state(folder: Path) -> dict[str, torch.Tensor]:
    """Read `weights.safetensors` of a checkpoint folder: the stock keys, float32."""
    from safetensors.torch import load_file

    return load_file(_require_file(folder, "weights.safetensors"))


def load_config(folder: Path) -> dict[str, Any]:
    """Read `config.json` of a checkpoint folder: hyperparameters and vocabulary (symbol to token id)."""
    return dict(json.loads(_require_file(folder, "config.json").read_text(encoding="utf-8")))


def _require_file(folder: Path, name: str) -> Path:
    """Return the path of a checkpoint's file. Raises BuildError if it is missing."""
    path = Path(folder) / name
    if not path.is_file():
        raise BuildError(f"no checkpoint in {folder}: {name} is missing; fetch the checkpoint again")
    return path


def load_shipped_config() -> dict[str, Any]:
    """Return the configuration of Kokoro-82M v1.0, which this package ships."""
    return dict(json.loads(SHIPPED_CONFIG.read_text(encoding="utf-8")))


def _fold_stale_weights(model: torch.nn.Module) -> None:
    """Recompute every weight-normed `weight` from g and v."""
    # Old-style weight_norm updates it only when the module runs. Until then it has the initial values and
    # dtype, and a gradient graph that forbids deepcopy.
    from torch.nn.utils.weight_norm import WeightNorm

    for module in model.modules():
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm):
                setattr(module, hook.name, hook.compute_weight(module))
