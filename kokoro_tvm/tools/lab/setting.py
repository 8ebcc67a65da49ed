"""What every comparison needs: a bundle, its recipe, the checkpoint, the references."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
    from kokoro_tvm.tools.lab.eager import EagerEngine
    from kokoro_tvm.tools.lab.stock_engine import StockEngine
    from kokoro_tvm.validation.measure.engine import TvmEngine
    from kokoro_tvm.validation.reference.reference import Reference, Request

__all__ = ["Lab", "Progress", "utterance_of"]

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
        """`root` holds recipes/ and artifacts/; the recipe is the one the bundle was built by.

        Sets PyTorch's threads to the same number. Raises BundleError, RecipeError.
        """
        import torch

        opened = read_bundle(bundle)
        count = choose_threads(threads)
        torch.set_num_threads(count)
        return cls(root, opened, load_built(opened.recipe, root), count, progress)

    @cached_property
    def store(self) -> ReferenceStore:
        """The references. Raises BuildError when there is no checkpoint."""
        artifacts = self.root / "artifacts"
        checkpoint = artifacts / "checkpoint" / self.bundle.model
        return ReferenceStore(checkpoint, artifacts / "reference" / self.bundle.model, self.progress)

    @cached_property
    def tvm(self) -> TvmEngine:
        """The bundle's code. Raises BundleError."""
        from kokoro_tvm.runtime.session.session import Session
        from kokoro_tvm.validation.measure.engine import TvmEngine

        return TvmEngine(Session(self.bundle, self.threads))

    @cached_property
    def model(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Configuration and float32 state dict of the checkpoint."""
        return self.store.model()

    def stock(self, regime: str) -> StockEngine:
        """The stock model as an engine, "pt.float64" or "pt.dynamic"."""
        from kokoro_tvm.tools.lab.stock_engine import StockEngine

        self.progress(f"building {regime}")
        return StockEngine(*self.model, regime)

    @contextmanager
    def eager(self, policies: Sequence[str], inner: bool = True) -> Iterator[dict[str, EagerEngine]]:
        """The patched model in eager PyTorch, an engine for each of these length policies."""
        from kokoro_tvm.tools.lab.eager import eager_engines

        patches = {name: component.patches for name, component in self.recipe.components.items()}
        with eager_engines(*self.model, patches, policies, inner=inner) as engines:
            yield engines

    def reference(self, name: str | None = None) -> Reference:
        """The reference of an utterance of the recipe, its first unless named.

        Raises InputError for a name it does not have.
        """
        return self.store.references([self.recipe.utterance(name)])[0]

    def request_of(self, utterance: UtteranceSpec) -> Request:
        """An utterance as the model is given it. Raises RecipeError for an unknown voice or phoneme."""
        from kokoro_tvm.validation.reference.compute import request_of

        return request_of(utterance, {"vocab": self.bundle.vocabulary}, self.store.voices())


def utterance_of(
    phonemes: str | None, text: str | None, voice: str | None, speed: float, seed: int, bundle: Bundle
) -> UtteranceSpec:
    """One utterance from phonemes, or from a text of one paragraph by the front end of the bundle.

    voice: None for the bundle's default. Raises InputError when it is none.
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
