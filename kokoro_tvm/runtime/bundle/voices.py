"""Voices: style tables by name, mixes of them, language and gender from a voice's name."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.errors import BundleError, InputError
from kokoro_tvm.runtime.bundle.files import OpenFile
from kokoro_tvm.runtime.bundle.manifest import Bundle
from kokoro_tvm.runtime.bundle.tensors import map_safetensors
from kokoro_tvm.words import shorten

__all__ = ["LANGUAGES", "VoiceInfo", "Voices", "describe", "style_of"]

LANGUAGES = {
    "a": "American English",
    "b": "British English",
    "e": "Spanish",
    "f": "French",
    "h": "Hindi",
    "i": "Italian",
    "j": "Japanese",
    "p": "Brazilian Portuguese",
    "z": "Mandarin Chinese",
}
_SIGN = re.compile("[-+,]")
_WEIGHTED = re.compile(r"([^(]*)\(\s*(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})\s*\)", re.ASCII)
_HEAVIEST = 1000
_GENDERS = {"f": "female", "m": "male"}


@dataclass(frozen=True)
class VoiceInfo:
    """A voice with language and gender from its name: `af_heart` is American English (code a), female."""

    name: str
    code: str
    language: str
    gender: str


def describe(name: str) -> VoiceInfo:
    """Language and gender from a voice's name; "unknown" where it does not follow Kokoro's naming."""
    prefix = name.partition("_")[0] if "_" in name else ""
    code, sex = (prefix[0], prefix[1]) if len(prefix) == 2 else ("", "")
    return VoiceInfo(name, code, LANGUAGES.get(code, "unknown"), _GENDERS.get(sex, "unknown"))


class Voices:
    """Style tables float32 (510, 2 * style_dim) by name."""

    def __init__(self, tables: dict[str, NDArray[np.float32]]) -> None:
        """Take the tables as they are; `tables` maps a voice's name to float32 (rows, width)."""
        self._tables = tables

    @classmethod
    def open(cls, bundle: Bundle, file: OpenFile | None = None) -> Voices:
        """Map the bundle's voices from `file`, or from the manifest's path, unchecked, where there is none.

        Raises:
            BundleError: a table is not float32 or has another width than the manifest says.
        """
        width = 2 * bundle.style_dim
        tables = {}
        for name, array in map_safetensors(bundle.voices.path, file).items():
            if array.dtype != np.float32 or not array.size or array.size % width:
                raise BundleError(
                    f"{bundle.voices.path}: the voice {name} is {array.dtype} {array.shape}, "
                    f"not float32 rows of {width}. Build the bundle again."
                )
            tables[name] = array.reshape(-1, width)
        return cls(tables)

    @property
    def names(self) -> tuple[str, ...]:
        """Names in alphabetical order."""
        return tuple(sorted(self._tables))

    def split(self, voice: str) -> tuple[str, ...]:
        """Names in a mix, each known; raises InputError with the nearest names otherwise."""
        return tuple(name for name, _ in self._parts(voice))

    def table(self, voice: str) -> NDArray[np.float32]:
        """Style table (rows, width) of a voice, or of a mix such as "af_heart,am_adam" or
        "af_heart(2)+am_adam-af_sky": the sum by weights, divided by what the weights are together without
        their signs. Raises InputError for what `split` does, and for a mix that takes away what it adds."""
        parts = self._parts(voice)
        tables = [self._tables[name] for name, _ in parts]
        if len(tables) == 1:
            return tables[0]
        if len({table.shape for table in tables}) > 1:
            raise InputError(f"The voices '{voice}' have tables of different lengths and cannot be mixed.")
        if all(weight == 1 for _, weight in parts):
            return np.mean(np.stack(tables), axis=0, dtype=np.float32)
        whole = 0.0
        for _, weight in parts:
            whole += abs(weight)
        # One table after the other: a matrix product rounds as the machine's BLAS does.
        mixed = np.zeros_like(tables[0])
        for table, (_, weight) in zip(tables, parts, strict=True):
            mixed += np.float32(weight / whole) * table
        return mixed

    def _parts(self, voice: str) -> tuple[tuple[str, float], ...]:
        """Names and weights of a mix; those after a minus are below 0. Raises InputError."""
        if not isinstance(voice, str):
            raise InputError(f"A voice should be a name such as 'af_heart', but is {voice!r}.")
        if voice in self._tables:
            return ((voice, 1.0),)
        signs, names = ("+", *_SIGN.findall(voice)), _SIGN.split(voice)
        parts = tuple(self._part(part, sign) for part, sign in zip(names, signs, strict=True))
        added = taken = 0.0
        for _, weight in parts:
            added, taken = (added + weight, taken) if weight > 0 else (added, taken - weight)
        # What all voices have in common is gone where both are equal: "Hello world." of three pairs had peaks
        # of 0.6, 9 and 58. At 9 to 11 they were 0.4 to 1.9; from 2 to 3 on 0.14 to 0.28, one voice's is 0.26.
        # The norm tells neither: it was 0.8 to 1.0 in all of these, and of no mix is it above its voices'.
        if 3 * taken > 2 * added:
            raise InputError(
                "This mix takes away nearly all that it adds, and no voice is left: what is subtracted "
                "should weigh at most two thirds of what is added."
            )
        return parts

    def _part(self, part: str, sign: str) -> tuple[str, float]:
        found = _WEIGHTED.fullmatch(part.strip())
        name, weight = (found[1].strip(), float(found[2])) if found else (part.strip(), 1.0)
        if name not in self._tables:
            raise InputError(self._unknown(name))
        if not 0 < weight <= _HEAVIEST:
            raise InputError(f"The weight of {name} in a mix should be above 0 and at most {_HEAVIEST}.")
        return name, -weight if sign == "-" else weight

    def _unknown(self, name: str) -> str:
        if not name:
            return "The name of a voice is empty. " + self._advice(())
        import difflib  # for an error alone

        return f"There is no voice '{shorten(name)}' in this bundle. " + self._advice(
            difflib.get_close_matches(name.lower(), self.names, n=3, cutoff=0.6)
        )

    def _advice(self, near: tuple[str, ...] | list[str]) -> str:
        if near:
            return f"Nearest: {', '.join(near)}. `kokoro-tvm voices` lists all {len(self._tables)}."
        some = ", ".join(self.names[:3])
        return f"It has {len(self._tables)}, such as {some}. `kokoro-tvm voices` lists them all."


def style_of(table: NDArray[np.float32], phonemes: str) -> NDArray[np.float32]:
    """`ref_s` (width,) for an utterance: row `len(phonemes) - 1`, as stock Kokoro picks it.

    The length counts every symbol of the text, also those the vocabulary lacks. An index outside the table
    (more symbols than rows, which only unknown symbols can cause) takes the nearest row.
    """
    return table[min(max(len(phonemes) - 1, 0), len(table) - 1)]
