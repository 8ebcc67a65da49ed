"""The stock model of a configuration, and the keys and shapes of its state dict."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from kokoro.model import KModel

__all__ = ["construct", "expected_shapes"]


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
