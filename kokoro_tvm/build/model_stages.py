"""The stages of a model, shared by all recipes that build it: its weights, and what the stock model says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kokoro_tvm.build.digest import versions
from kokoro_tvm.build.ingredients import TORCH, stage_sources
from kokoro_tvm.build.stage import Stage
from kokoro_tvm.build.store import Store
from kokoro_tvm.recipe import Checkpoint, Utterance

__all__ = ["ModelStages"]


@dataclass(frozen=True)
class ModelStages:
    """Made from the model's recipe alone, so that they are the same for every target."""

    model: str
    weights: Checkpoint
    utterances: tuple[Utterance, ...]
    artifacts: Path
    root: Path
    store: Store

    @property
    def _work(self) -> Path:
        return self.artifacts / ".build" / self.model

    @cached_property
    def checkpoint(self) -> Stage:
        """Weights, voices and configuration."""
        told = self.weights.model_dump(mode="json")
        folder = self.artifacts / "checkpoint" / self.model
        return Stage(
            name=f"{self.model}.checkpoint",
            doc="fetch weights, voices and configuration",
            store=self.store,
            folder=folder,
            work=self._work,
            function="checkpoint",
            arguments=lambda out: {"recipe": told, "folder": str(out), "root": str(self.root)},
            outputs=("weights.safetensors", "voices.safetensors", "config.json"),
            ingredients=lambda: {
                "checkpoint": told,
                "sources": stage_sources("checkpoint"),
                "versions": versions("torch", "kokoro", "numpy"),
            },
        )

    @cached_property
    def reference(self) -> Stage:
        """What the stock model says."""
        utterances = [u.model_dump(mode="json") for u in self.utterances]
        folder = self.artifacts / "reference" / self.model
        return Stage(
            name=f"{self.model}.reference",
            doc="run the stock model in float64 and float32 on the utterances",
            store=self.store,
            folder=folder,
            work=self._work,
            function="reference",
            arguments=lambda out: {
                "checkpoint": str(self.checkpoint.folder),
                "utterances": utterances,
                "kept": str(folder),
                "folder": str(out),
            },
            outputs=tuple(f"{u['name']}.safetensors" for u in utterances),
            ingredients=lambda: {
                "utterances": utterances,
                "checkpoint": {f: self.checkpoint.sha256(f) for f in self.checkpoint.outputs},
                "sources": stage_sources("reference", ["kokoro_tvm.validate.compute"]),
                "versions": versions(*TORCH),
            },
            after=(self.checkpoint,),
        )

    def reference_paths(self) -> list[str]:
        """Where the references are."""
        return [str(self.reference.path(o)) for o in self.reference.outputs]
