"""Voices: style tables by name, mixes of them, language and gender from a voice's name, and the language that
the text of each is read in."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.errors import BundleError, InputError
from kokoro_tvm.common.words import shorten, truncate
from kokoro_tvm.runtime.bundle.files import OpenFile
from kokoro_tvm.runtime.bundle.languages import KOKORO, SpokenLanguage
from kokoro_tvm.runtime.bundle.manifest import Bundle
from kokoro_tvm.runtime.bundle.tensors import map_safetensors
from kokoro_tvm.runtime.notices import warn

__all__ = [
    "LANGUAGES",
    "MOST_VOICES",
    "VOICES_REMEMBERED",
    "VoiceInfo",
    "Voices",
    "describe",
    "languages_of",
    "style_of",
]

VOICES_REMEMBERED = 32
"""Voices of which a request remembers language and table; each mix is one."""

LANGUAGES = {code: language.name for code, language in KOKORO.items()}
_SIGN = re.compile("[-+,]")
_WEIGHTED = re.compile(r"([^(]*)\(\s*(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})\s*\)", re.ASCII)
_HEAVIEST = 1000
MOST_VOICES = 16
"""Voices of a mix."""
_DEFAULT = "af_heart"
_FAR = 4.0  # norms of the rows of Kokoro's 54 voices are 2.3 to 11.8: what is no style is 0, or 1e30
_GENDERS = {"f": "female", "m": "male"}


@dataclass(frozen=True)
class VoiceInfo:
    """A voice with language and gender from its name: `af_heart` is American English (code a), female."""

    name: str
    code: str
    language: str
    gender: str


def describe(name: str, languages: Mapping[str, SpokenLanguage] = KOKORO) -> VoiceInfo:
    """SpokenLanguage and gender from a voice's name; "unknown" where it does not follow Kokoro's naming.

    languages: the bundle's; where there is one alone, every voice speaks it.
    """
    prefix = name.partition("_")[0] if "_" in name else ""
    code, sex = (prefix[0], prefix[1]) if len(prefix) == 2 else ("", "")
    if len(languages) == 1:
        (code,) = languages
    language = languages[code].name if code in languages else "unknown"
    return VoiceInfo(name, code, language, _GENDERS.get(sex, "unknown"))


class Voices:
    """Style tables float32 (510, 2 * style_dim) by name."""

    def __init__(self, tables: dict[str, NDArray[np.float32]], own: Collection[str] = ()) -> None:
        """Take the tables as they are; `tables` maps a voice's name to float32 (rows, width), `own` are names
        of those that are not the bundle's."""
        self._tables = tables
        self._own = own

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

    def joined(self, own: Mapping[str, NDArray[np.float32]]) -> Voices:
        """These voices and some of one's own, float32 (510 or 1, width) each.

        Raises:
            InputError: one has the name of a voice that is there, or a row that is far from all that are.
        """
        least, most = self._norms
        for name, table in own.items():
            if name in self._tables:
                raise InputError(f"There is a voice {name} already. Rename the file.")
            norms = np.linalg.norm(table.astype(np.float64), axis=1)  # of any float32
            row = int(np.argmax(np.abs(np.log(np.maximum(norms, 1e-30) / np.sqrt(least * most)))))
            if not least / _FAR <= norms[row] <= most * _FAR:
                raise InputError(
                    f"The voice {name} is far from all that the model was trained with: row {row} has the "
                    f"norm {norms[row]:.3g}, and theirs are {least:.3g} to {most:.3g}. Is it a style of this "
                    "model?"
                )
        return Voices({**self._tables, **own}, tuple(own))

    @property
    def own(self) -> dict[str, str]:
        """Names of the voices that are not the bundle's, with the SHA-256 of their tables."""
        digest = hashlib.sha256
        return {name: digest(self._tables[name].astype("<f4").tobytes()).hexdigest() for name in self._own}

    @cached_property
    def _norms(self) -> tuple[float, float]:
        """The least and the largest norm of a row."""
        norms = np.concatenate([np.linalg.norm(table, axis=1) for table in self._tables.values()])
        return float(norms.min()), float(norms.max())

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self._tables)

    def __contains__(self, name: object) -> bool:
        return name in self._tables

    @property
    def names(self) -> tuple[str, ...]:
        """Names in alphabetical order."""
        return tuple(sorted(self._tables))

    @property
    def default(self) -> str:
        """The voice that speaks where none is named: af_heart, or the first of a bundle without it."""
        return _DEFAULT if _DEFAULT in self._tables else self.names[0]

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
        rows = max(map(len, tables))
        if not {*map(len, tables)} <= {1, rows}:  # a style for every length goes with all
            raise InputError(
                f"The voices '{truncate(voice)}' have tables of different lengths and cannot be mixed."
            )
        is_mean = all(weight == 1 for _, weight in parts)
        whole = 0.0
        for _, weight in parts:
            whole += abs(weight)
        # One table after the other: memory is that of one, and a matrix product rounds as BLAS does.
        mixed = np.zeros((rows, tables[0].shape[1]), np.float32)
        for table, (_, weight) in zip(tables, parts, strict=True):
            mixed += table if is_mean else np.float32(weight / whole) * table
        return mixed / np.float32(len(tables)) if is_mean else mixed

    def _parts(self, voice: str) -> tuple[tuple[str, float], ...]:
        """Names and weights of a mix; those after a minus are below 0. Raises InputError."""
        if not isinstance(voice, str):
            raise InputError(f"A voice should be a name such as 'af_heart', but is {truncate(repr(voice))}.")
        if voice in self._tables:
            return ((voice, 1.0),)
        signs, names = ("+", *_SIGN.findall(voice)), _SIGN.split(voice)
        if len(names) > MOST_VOICES:
            raise InputError(
                f"A mix may have {MOST_VOICES} voices, but this one has {len(names)}. Leave some out: to "
                "make one heavier, give it a weight, as in af_heart(2)."
            )
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


def languages_of(
    voices: Voices, voice: str, language: str | None, known: Mapping[str, SpokenLanguage]
) -> Callable[[str | None], str]:
    """The letter of the language of each voice, of `voice` itself for None; `language` where it is given.
    known: the bundle's languages, the first of which a voice speaks whose name says none.

    A SpeechWarning says once where a voice leaves it open. Raises InputError for an unknown one of either.
    """
    if language is not None and language not in known:
        letters = ", ".join(f"{letter} ({each.name})" for letter, each in known.items())
        raise InputError(f"There is no language {truncate(repr(language))}. Choose one of {letters}.")

    @lru_cache(VOICES_REMEMBERED)
    def language_of(other: str | None) -> str:
        names = voices.split(voice if other is None else other)
        return language or _language(names, voice if other is None else other, known)

    language_of(None)
    return language_of


def _language(names: tuple[str, ...], voice: str, known: Mapping[str, SpokenLanguage]) -> str:
    infos = [describe(name, known) for name in names]
    code = infos[0].code
    if code not in known:
        code, first = next(iter(known.items()))
        warn(f"The name of the voice {infos[0].name} names no language; {first.name} is used.")
        return code
    if any(info.code != code for info in infos):
        mix = truncate(voice)
        warn(f"The voices of the mix '{mix}' speak different languages; {known[code].name} is used.")
    return code
