"""The stock model of the package `kokoro`, in PyTorch float32 with its defaults (`disable_complex=False`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kokoro_tvm.bench.engine import EngineSpec, Spoken, Utterance

__all__ = ["StockEngine", "open_engine"]


class StockEngine:
    """`KModel` from a folder with `config.json` and `kokoro-v1_0.pth`, as the hub has them."""

    def __init__(self, spec: EngineSpec) -> None:
        import torch
        from kokoro import KModel

        torch.set_num_threads(spec.threads)
        folder = Path(spec.path)
        self._model = KModel(
            repo_id="hexgrad/Kokoro-82M",
            config=str(folder / "config.json"),
            model=str(folder / "kokoro-v1_0.pth"),
            disable_complex=False,
        ).eval()
        self.details = "float32"

    def speak(self, utterances: Sequence[Utterance]) -> Spoken:
        import torch

        audio = []
        for utterance in utterances:
            with torch.inference_mode():
                tokens, style = torch.tensor([utterance.tokens]), torch.tensor([utterance.style])
                audio.append(self._model.forward_with_tokens(tokens, style, 1)[0].numpy())
        return Spoken(audio)


open_engine = StockEngine
