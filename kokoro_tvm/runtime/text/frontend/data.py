"""The front end's data in a bundle, in one safetensors file: tagger, tokenizer, lexicon, written forms and
rules of letter-to-sound."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from kokoro_tvm.errors import BundleError
from kokoro_tvm.runtime.bundle.files import OpenFile
from kokoro_tvm.runtime.bundle.tensors import map_safetensors
from kokoro_tvm.runtime.text.frontend.dictionary import Dictionary
from kokoro_tvm.runtime.text.frontend.homographs import HomographData
from kokoro_tvm.runtime.text.frontend.layout import FORMAT, HOMOGRAPHS, LAYERS
from kokoro_tvm.runtime.text.frontend.tagger import Layer, TaggerData
from kokoro_tvm.runtime.text.frontend.tokenizer import TokenizerRules

__all__ = ["EnglishData", "FrontEndFile"]


@dataclass(frozen=True)
class EnglishData:
    """What one English needs: rules and tagger, which both share, its lexicon, gold and silver, its
    model of letter-to-sound, and words of two readings, None where its tagger is another one than they were
    learned with."""

    tokenizer: TokenizerRules
    tagger: TaggerData
    gold: Dictionary
    silver: Dictionary
    letters: Dictionary
    homographs: HomographData | None


class FrontEndFile:
    """The file, mapped: rules are read and a lexicon is unpacked on first use."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]], path: Path) -> None:
        """tensors: those of the file; path: names it in messages."""
        self._tensors = tensors
        self._path = path

    @classmethod
    def open(cls, path: Path, file: OpenFile | None = None) -> FrontEndFile:
        """Map the file; its tagger is read from it as it is used. Raises BundleError."""
        return cls(map_safetensors(path, file), path)

    def english(self, british: bool) -> EnglishData:
        """What American or British English needs.

        Raises:
            BundleError: the file has another layout.
        """
        variant = "gb" if british else "us"
        try:
            gold, silver, letters = (
                Dictionary(self._tensors[name.format(variant)].tobytes())
                for name in ("lexicon.{}.gold", "lexicon.{}.silver", "letters.{}")
            )
            return EnglishData(self.tokenizer, self.tagger, gold, silver, letters, self._homographs(variant))
        except (KeyError, ValueError, TypeError, AttributeError, zlib.error) as error:
            raise BundleError(
                f"{self._path} is no front end that this version reads ({error!r}). Build the bundle again."
            ) from error

    def forms(self, language: str) -> Mapping[str, Any] | None:
        """Written forms of a language (ISO 639-1), as `normalization.language` reads them; None where the
        file has none of it."""
        packed = self._tensors.get(f"text.{language}")
        return None if packed is None else json.loads(zlib.decompress(packed.tobytes()))

    def sounds(self, language: str) -> Mapping[str, Any] | None:
        """Rules of letter-to-sound of a language (ISO 639-1), as `sounds.Sounds` reads them; None where the
        file has none of it."""
        packed = self._tensors.get(f"sounds.{language}")
        return None if packed is None else json.loads(zlib.decompress(packed.tobytes()))

    @cached_property
    def _rules(self) -> Any:
        rules = json.loads(zlib.decompress(self._tensors["rules"].tobytes()))
        if rules["format"] != FORMAT:
            raise BundleError(
                f"{self._path} has layout {rules['format']}, and this version reads {FORMAT}. "
                "Build the bundle with this version."
            )
        return rules

    @cached_property
    def tokenizer(self) -> TokenizerRules:
        """How English is cut."""
        rules = self._rules
        exceptions = {
            word: tuple((text, norm) for text, norm in pieces) for word, pieces in rules["exceptions"].items()
        }
        return TokenizerRules(
            rules["prefix"], rules["suffix"], rules["infix"], rules["url"], exceptions=exceptions
        )

    @cached_property
    def tagger(self) -> TaggerData:
        """What the tagger learned."""
        rules, tensors = self._rules, self._tensors
        return TaggerData(
            embeddings=tensors["embeddings"],
            rows=tuple(rules["rows"]),
            mix=self._layer("mix"),
            layers=tuple(self._layer(f"layer.{index}") for index in range(LAYERS)),
            weight=tensors["scores.weight"],
            bias=tensors["scores.bias"],
            labels=tuple(rules["labels"]),
            norms={int(key): norm for key, norm in rules["norms"].items()},
            symbols=rules["symbols"],
        )

    def _homographs(self, variant: str) -> HomographData | None:
        if f"homographs.{variant}" not in self._tensors:
            return None
        arrays = {name: self._tensors[f"homographs.{name}"] for name in HOMOGRAPHS}
        words = json.loads(zlib.decompress(self._tensors[f"homographs.{variant}"].tobytes()))
        return HomographData(**arrays, words=words)

    def _layer(self, name: str) -> Layer:
        return Layer(*(self._tensors[f"{name}.{part}"] for part in ("weight", "bias", "scale", "shift")))
