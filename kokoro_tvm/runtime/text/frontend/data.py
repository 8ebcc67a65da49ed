"""The front end's file in a bundle: tagger, tokenizer, lexicon, written forms and letter-to-sound."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime.bundle.files import OpenFile
from kokoro_tvm.runtime.bundle.tensors import map_safetensors
from kokoro_tvm.runtime.text.frontend.dictionary import Dictionary
from kokoro_tvm.runtime.text.frontend.homographs import HomographData
from kokoro_tvm.runtime.text.frontend.joint_ngrams import JointNgrams
from kokoro_tvm.runtime.text.frontend.letter_network import LetterNetwork
from kokoro_tvm.runtime.text.frontend.tagger import MaxoutLayer, TaggerData
from kokoro_tvm.runtime.text.frontend.tokenizer import TokenizerRules

FORMAT = 7
"""Version of the layout, in the tensor `format`."""
CONTEXT_LAYERS = 4
"""Number of the tagger's layers over a word and its neighbours."""
HOMOGRAPH_TENSORS = ("mean", "deviation", "scales", "biases", "weights")
"""Names of the tensors of the homograph model."""
FIELD_SEPARATOR, SUBFIELD_SEPARATOR = "\x1e", "\x1f"
"""Separators in a value of a dictionary."""


@dataclass(frozen=True)
class EnglishData:
    """Data of American or British English.

    Attributes:
        tokenizer, tagger: Shared by both.
        gold, silver: The lexicon.
        names: Pronunciations of words that the lexicon lacks, names among them.
        letters: The letter-to-sound model.
        homographs: None if the tagger is not the one that the homograph model was trained with.
    """

    tokenizer: TokenizerRules
    tagger: TaggerData
    gold: Dictionary
    silver: Dictionary
    names: Dictionary
    letters: JointNgrams
    homographs: HomographData | None


class FrontEndFile:
    """Memory-mapped file of the front end; rules and dictionaries are unpacked on first use."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]], path: Path) -> None:
        """Create it from the tensors of the file; messages name `path`."""
        self._tensors = tensors
        self._path = path

    @classmethod
    def open(cls, path: Path, file: OpenFile | None = None) -> FrontEndFile:
        """Map the file.

        Raises:
            BundleError: It is no safetensors file.
        """
        return cls(map_safetensors(path, file), path)

    def english(self, british: bool) -> EnglishData:
        """Return the data of American or British English.

        Raises:
            BundleError: The file has another layout.
        """
        variant = "gb" if british else "us"
        try:
            if (layout := int(self._tensors["format"][0])) != FORMAT:
                raise BundleError(
                    f"{self._path} has layout {layout}, and this version reads {FORMAT}. "
                    "Build the bundle with this version."
                )
            gold, silver, names = (
                self._dictionary(f"lexicon.{variant}.{kind}") for kind in ("gold", "silver", "names")
            )
            network = LetterNetwork(self._tensors, variant)
            letters = JointNgrams(self._tensors[f"letters.{variant}"].tobytes(), network)
            homographs = self._homographs(variant)
            return EnglishData(self.tokenizer, self.tagger, gold, silver, names, letters, homographs)
        except (KeyError, ValueError, TypeError, AttributeError, zlib.error) as error:
            raise BundleError(
                f"{self._path} is no front end that this version reads ({error!r}). Build the bundle again."
            ) from error

    def forms(self, language: str) -> Mapping[str, Any] | None:
        """Return the rules for written forms of a language (ISO 639-1), or None."""
        return self._json(f"text.{language}")

    def sounds(self, language: str) -> Mapping[str, Any] | None:
        """Return the letter-to-sound rules of a language (ISO 639-1), or None."""
        return self._json(f"sounds.{language}")

    def _json(self, name: str) -> Any:
        """Return the JSON in a tensor, or None if there is none; raise BundleError if it is damaged."""
        packed = self._tensors.get(name)
        try:
            return None if packed is None else json.loads(zlib.decompress(packed.tobytes()))
        except (ValueError, RecursionError, zlib.error) as error:
            raise BundleError(
                f"{self._path} has a damaged {name} ({error}). Build or copy the bundle again."
            ) from error

    @cached_property
    def tokenizer(self) -> TokenizerRules:
        """Rules of the English tokenizer."""
        rules = json.loads(zlib.decompress(self._tensors["rules"].tobytes()))
        exceptions = {
            word: tuple(
                (text, norm) for text, _, norm in (piece.partition(SUBFIELD_SEPARATOR) for piece in pieces)
            )
            for word, pieces in self._fields("exceptions")
        }
        return TokenizerRules(**rules, exceptions=exceptions)

    @cached_property
    def tagger(self) -> TaggerData:
        """Weights of the tagger."""
        tensors = self._tensors
        return TaggerData(
            embeddings=tensors["embeddings"],
            rows=tuple(map(int, tensors["rows"])),
            mix=self._layer("mix"),
            layers=tuple(self._layer(f"layer.{index}") for index in range(CONTEXT_LAYERS)),
            weight=tensors["scores.weight"],
            bias=tensors["scores.bias"],
            labels=tuple(tensors["labels"].tobytes().decode().split("\n")),
            norms=self._dictionary("norms"),
            symbols={word: int(key) for word, (key,) in self._fields("symbols")},
        )

    def _homographs(self, variant: str) -> HomographData | None:
        if f"homographs.{variant}" not in self._tensors:
            return None
        arrays = {name: self._tensors[f"homographs.{name}"] for name in HOMOGRAPH_TENSORS}
        entries = self._fields(f"homographs.{variant}")
        return HomographData(
            **arrays, words={word: (int(first), readings) for word, (first, *readings) in entries}
        )

    def _layer(self, name: str) -> MaxoutLayer:
        return MaxoutLayer(
            *(self._tensors[f"{name}.{part}"] for part in ("weight", "bias", "scale", "shift"))
        )

    def _fields(self, name: str) -> Iterator[tuple[str, list[str]]]:
        """Yield the words of a dictionary, each with the fields of its value."""
        for word, value in self._dictionary(name).items():
            if isinstance(value, str):
                yield word, value.split(FIELD_SEPARATOR)

    def _dictionary(self, name: str) -> Dictionary:
        return Dictionary(self._tensors[name].tobytes())
