"""A bundle with everything that measurements need: its recipe, the checkpoint, the references."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError as PydanticError

from kokoro_tvm.builder.reference_store import ReferenceStore
from kokoro_tvm.common.errors import InputError
from kokoro_tvm.recipe import Recipe, UtteranceSpec, load_built
from kokoro_tvm.runtime import read_bundle
from kokoro_tvm.runtime.bundle.manifest import Bundle
from kokoro_tvm.runtime.bundle.voices import Voices, describe
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.phonemes import clean_phonemes
from kokoro_tvm.runtime.text.reading import phonemize_text
from kokoro_tvm.runtime.threads import choose_threads

if TYPE_CHECKING:
    from kokoro_tvm.tools.lab.stock_engine import StockEngine
    from kokoro_tvm.validation.measure.engine import TvmEngine
    from kokoro_tvm.validation.reference.reference import Reference, Request

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Lab:
    """One bundle and what it is measured with. Models are loaded at first use."""

    root: Path
    bundle: Bundle
    recipe: Recipe
    threads: int
    progress: Progress

    @classmethod
    def open(
        cls,
        bundle: Path,
        root: Path = Path(),
        threads: int | None = None,
        progress: Progress = lambda _: None,
    ) -> Lab:
        """Open a bundle and the recipe that it was built by, and set PyTorch's number of threads.

        Args:
            bundle: Folder of the bundle.
            root: Folder that holds recipes/ and artifacts/.
            threads: Number of threads, or None for all usable cores.
            progress: Called with a line of text before every run.

        Raises:
            BundleError: The bundle is damaged.
            RecipeError: The recipe is missing or invalid.
        """
        import torch

        manifest = read_bundle(bundle)
        count = choose_threads(threads)
        torch.set_num_threads(count)
        return cls(root, manifest, load_built(manifest.recipe, root), count, progress)

    @cached_property
    def store(self) -> ReferenceStore:
        """The references. Raises BuildError if there is no checkpoint."""
        artifacts = self.root / "artifacts"
        checkpoint = artifacts / "checkpoint" / self.bundle.model
        return ReferenceStore(checkpoint, artifacts / "reference" / self.bundle.model, self.progress)

    @cached_property
    def tvm(self) -> TvmEngine:
        """The bundle's code, loaded at first use. Raises BundleError if this machine cannot run it."""
        from kokoro_tvm.runtime.session.session import Session
        from kokoro_tvm.validation.measure.engine import TvmEngine

        return TvmEngine(Session(self.bundle, self.threads))

    @cached_property
    def model(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Configuration and float32 state dict of the checkpoint."""
        return self.store.model()

    def stock(self, regime: str) -> StockEngine:
        """Build the stock model as an engine: "pt.float64" or "pt.dynamic"."""
        from kokoro_tvm.tools.lab.stock_engine import StockEngine

        self.progress(f"building {regime}")
        return StockEngine(*self.model, regime)

    def reference(self, name: str | None = None) -> Reference:
        """Return the reference of an utterance of the recipe, by default its first.

        Raises:
            InputError: The recipe has no utterance of this name.
        """
        return self.store.references([self.recipe.utterance(name)])[0]

    def request_of(self, utterance: UtteranceSpec) -> Request:
        """Convert an utterance to the model's inputs. Raises RecipeError for an unknown voice or phoneme."""
        from kokoro_tvm.validation.reference.compute import request_of

        return request_of(utterance, {"vocab": self.bundle.vocabulary}, self.store.voices())


def build_utterance(
    phonemes: str | None, text: str | None, voice: str | None, speed: float, seed: int, bundle: Bundle
) -> UtteranceSpec:
    """Build one utterance from phonemes, or from a text of one paragraph with the bundle's front end.

    Args:
        phonemes: Phonemes, or None.
        text: Text, or None.
        voice: A voice, or None for the bundle's default.
        speed: Factor of the speaking rate.
        seed: Seed of the noise.
        bundle: The bundle.

    Raises:
        InputError: Both or neither of phonemes and text are given, or the utterance is invalid.
    """
    if (phonemes is None) == (text is None):
        raise InputError("Say what to speak either as a text or as phonemes.")
    if voice is None:
        voice = Voices.open(bundle).default
    if phonemes is None:
        code = describe(voice, bundle.languages).code
        code = code if code in bundle.languages else next(iter(bundle.languages))
        paragraphs = phonemize_text(SourceText.of(str(text)), code, FrontEnd.open(bundle))
        if len(paragraphs) != 1:
            raise InputError(f"The text has {len(paragraphs)} paragraphs, and regimes are compared on one.")
        phonemes = paragraphs[0].phonemes
    try:
        return UtteranceSpec(
            name="given", phonemes=clean_phonemes(phonemes), voice=voice, speed=speed, seed=seed
        )
    except PydanticError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise InputError(
            f"This is no utterance: {field}: {first['msg']} (given: {first['input']!r:.60})."
        ) from None
