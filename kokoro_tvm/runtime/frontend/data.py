"""The front end's data in a bundle: tagger, tokenizer and lexicon in one safetensors file."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from kokoro_tvm.errors import BundleError
from kokoro_tvm.runtime.files import OpenFile
from kokoro_tvm.runtime.frontend.dictionary import Dictionary
from kokoro_tvm.runtime.frontend.tagger import Layer, TaggerData
from kokoro_tvm.runtime.frontend.tokenizer import TokenizerRules
from kokoro_tvm.runtime.tensors import map_safetensors

__all__ = ["FORMAT", "LAYERS", "EnglishData", "FrontEndFile"]

FORMAT = 1
"""The layout of the file, in its tensor `rules`."""
LAYERS = 4
"""Layers over a word and its neighbours."""

_EMBEDDINGS = 6


@dataclass(frozen=True)
class EnglishData:
    """What one English needs: rules and tagger, which both share, and its lexicon, gold and silver."""

    tokenizer: TokenizerRules
    tagger: TaggerData
    gold: Dictionary
    silver: Dictionary


class FrontEndFile:
    """The file, open; a lexicon is unpacked when it is asked for."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]], path: Path) -> None:
        """tensors: those of the file; path: names it in messages.

        Raises:
            BundleError: it has another layout.
        """
        self._tensors = tensors
        try:
            rules = json.loads(zlib.decompress(tensors["rules"].tobytes()))
            if rules["format"] != FORMAT:
                raise BundleError(
                    f"{path} has layout {rules['format']}, and this version reads {FORMAT}. "
                    "Build the bundle with this version."
                )
            self.tokenizer = TokenizerRules(
                **{name: rules[name] for name in ("prefix", "suffix", "infix", "url")},
                exceptions={
                    word: tuple((text, norm) for text, norm in pieces)
                    for word, pieces in rules["exceptions"].items()
                },
            )
            self.tagger = TaggerData(
                embeddings=tuple(tensors[f"embedding.{index}"] for index in range(_EMBEDDINGS)),
                mix=self._layer("mix"),
                layers=tuple(self._layer(f"layer.{index}") for index in range(LAYERS)),
                weight=tensors["scores.weight"],
                bias=tensors["scores.bias"],
                labels=tuple(rules["labels"]),
                norms={int(key): norm for key, norm in rules["norms"].items()},
                symbols=rules["symbols"],
            )
        except (KeyError, ValueError, TypeError, AttributeError, zlib.error) as error:
            raise BundleError(
                f"{path} is no front end that this version reads ({error}). Build the bundle again."
            ) from error

    @classmethod
    def open(cls, path: Path, file: OpenFile | None = None) -> FrontEndFile:
        """Map the file; its tagger is read from it as it is used. Raises BundleError."""
        return cls(map_safetensors(path, file), path)

    def english(self, british: bool) -> EnglishData:
        """What American or British English needs."""
        gold, silver = (self._dictionary("gb" if british else "us", kind) for kind in ("gold", "silver"))
        return EnglishData(self.tokenizer, self.tagger, gold, silver)

    def _layer(self, name: str) -> Layer:
        return Layer(*(self._tensors[f"{name}.{part}"] for part in ("weight", "bias", "scale", "shift")))

    def _dictionary(self, variant: str, kind: str) -> Dictionary:
        return Dictionary(self._tensors[f"lexicon.{variant}.{kind}"].tobytes())
