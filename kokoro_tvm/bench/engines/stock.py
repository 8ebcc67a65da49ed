"""The stock model of the package `kokoro`, in PyTorch with its defaults (`disable_complex=False`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kokoro_tvm.bench.engine import EngineSpec, Spoken, Utterance

__all__ = ["StockEngine", "open_engine"]


class StockEngine:
    """`KModel` from a folder with `config.json` and `kokoro-v1_0.pth`, as the hub has them, on a device as
    PyTorch calls it. Precision bfloat16 is PyTorch's automatic mixed precision."""

    def __init__(self, spec: EngineSpec, device: str = "cpu") -> None:
        import torch
        from kokoro import KModel

        torch.set_num_threads(spec.threads)
        folder = Path(spec.path)
        self._model = KModel(
            repo_id="hexgrad/Kokoro-82M",
            config=str(folder / "config.json"),
            model=str(folder / "kokoro-v1_0.pth"),
            disable_complex=False,
        )
        self._model = self._model.to(device).eval()
        self._device = device
        self._mixed = spec.precision == "bfloat16"
        precision = "mixed float32 and bfloat16" if self._mixed else "float32"
        self.details = precision if device == "cpu" else f"{precision} on {device}"

    def compile(self) -> None:
        """Has `torch.compile` compile the components, once for all lengths."""
        import torch

        # The whole would be cut where durations are read; LSTMs of packed sequences it cannot compile.
        for name in ("bert", "decoder"):
            component = getattr(self._model, name)
            component.forward = torch.compile(component.forward, dynamic=True)
        self.details += ", compiled"

    def speak(self, utterances: Sequence[Utterance]) -> Spoken:
        import torch

        audio = []
        for utterance in utterances:
            with (
                torch.inference_mode(),
                torch.autocast(self._device, torch.bfloat16, enabled=self._mixed),
            ):
                given = (utterance.tokens, utterance.style)
                tokens, style = (torch.tensor([each], device=self._device) for each in given)
                audio.append(self._model.forward_with_tokens(tokens, style, 1)[0].float().cpu().numpy())
        return Spoken(audio)


open_engine = StockEngine
