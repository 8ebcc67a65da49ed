"""Voices: style tables by name, mixes of them, and their languages."""

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
from kokoro_tvm.runtime.bundle.languages import KOKORO, SpokenLanguage, find_language
from kokoro_tvm.runtime.bundle.manifest import Bundle
from kokoro_tvm.runtime.bundle.tensors import map_safetensors
from kokoro_tvm.runtime.notices import warn

VOICES_REMEMBERED = 32
"""Size of the caches of languages and tables by voice, per request; a mix is one voice."""

LANGUAGES = {code: language.name for code, language in KOKORO.items()}
_SIGN = re.compile("[-+,]")
_WEIGHTED = re.compile(r"([^(]*)\(\s*(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})\s*\)", re.ASCII)
_MAX_WEIGHT = 1000
MOST_VOICES = 16
"""Maximum number of voices of a mix."""
_DEFAULT = "af_heart"
_OPENAI = {
    "alloy": "af_alloy",
    "ash": "am_adam",
    "ballad": "bm_george",
    "cedar": "am_fenrir",
    "coral": "af_bella",
    "echo": "am_echo",
    "fable": "bm_fable",
    "marin": "af_heart",
    "nova": "af_nova",
    "onyx": "am_onyx",
    "sage": "af_sarah",
    "shimmer": "af_sky",
    "verse": "am_michael",
}  # a voice of Kokoro of the same name, if there is one; the others are chosen by gender and liveliness
_SEPARATORS = re.compile(r"([-+,(]\s*)")
_NORM_MARGIN = 4.0  # norms of rows of Kokoro's 54 voices are 2.3 to 11.8; garbage has 0, or 1e30
_GENDERS = {"f": "female", "m": "male"}


@dataclass(frozen=True)
class VoiceInfo:
    """A voice's language and gender, from its name: `af_heart` is American English (code a), female."""

    name: str
    code: str
    language: str
    gender: str


def describe(name: str, languages: Mapping[str, SpokenLanguage] = KOKORO) -> VoiceInfo:
    """Return a voice's language and gender; "unknown" for names without Kokoro's prefix.

    `languages` are the bundle's; if there is only one, every voice speaks it.
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
        """Wrap tables, float32 (rows, width), by name; `own` names those that are the user's."""
        self._tables = tables
        self._own = own

    @classmethod
    def open(cls, bundle: Bundle, file: OpenFile | None = None) -> Voices:
        """Map the bundle's voices from `file`, or, unverified, from the manifest's path.

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
        """Return these voices and the user's, float32 (510 or 1, width) each.

        Raises:
            InputError: a name exists already, or a row's norm is far from those of the bundle's voices.
        """
        least, most = self._norms
        for name, table in own.items():
            if name in self._tables:
                raise InputError(f"There is a voice {name} already. Rename the file.")
            norms = np.linalg.norm(table.astype(np.float64), axis=1)  # of any float32
            row = int(np.argmax(np.abs(np.log(np.maximum(norms, 1e-30) / np.sqrt(least * most)))))
            if not least / _NORM_MARGIN <= norms[row] <= most * _NORM_MARGIN:
                raise InputError(
                    f"The voice {name} is far from all that the model was trained with: row {row} has the "
                    f"norm {norms[row]:.3g}, and theirs are {least:.3g} to {most:.3g}. Is it a style of this "
                    "model?"
                )
        return Voices({**self._tables, **own}, tuple(own))

    @property
    def own(self) -> dict[str, str]:
        """The user's voices: name -> SHA-256 of the table."""
        digest = hashlib.sha256
        return {name: digest(self._tables[name].astype("<f4").tobytes()).hexdigest() for name in self._own}

    @cached_property
    def _norms(self) -> tuple[float, float]:
        """The smallest and the largest norm of a row."""
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
        """All names, sorted."""
        return tuple(sorted(self._tables))

    @property
    def default(self) -> str:
        """The default voice: af_heart, or the first of a bundle without it."""
        return _DEFAULT if _DEFAULT in self._tables else self.names[0]

    def resolve(self, voice: str | None) -> str:
        """Replace OpenAI's names in a voice or a mix by those of this bundle, unless it has them.

        None stands for the default voice.
        """
        if voice is None:
            return self.default
        if not isinstance(voice, str) or voice in self._tables:
            return voice
        parts = _SEPARATORS.split(voice)
        return "".join(p if p in self._tables else _OPENAI.get(p.strip(), p) for p in parts)

    def split(self, voice: str) -> tuple[str, ...]:
        """Return the names in a mix; raises InputError, with the nearest names, for an unknown one."""
        return tuple(name for name, _ in self._parts(voice))

    def table(self, voice: str) -> NDArray[np.float32]:
        """Return the style table (rows, width) of a voice or a mix.

        "af_heart,am_adam" and "af_heart(2)+am_adam-af_sky" are mixes: the weighted sum, divided by the sum of
        the absolute weights.

        Raises:
            InputError: a name is unknown, or a mix subtracts nearly all that it adds.
        """
        parts = self._parts(voice)
        tables = [self._tables[name] for name, _ in parts]
        if len(tables) == 1:
            return tables[0]
        rows = max(map(len, tables))
        if not {*map(len, tables)} <= {1, rows}:  # one style for every length fits all
            raise InputError(
                f"The voices '{truncate(voice)}' have tables of different lengths and cannot be mixed."
            )
        is_mean = all(weight == 1 for _, weight in parts)
        whole = 0.0
        for _, weight in parts:
            whole += abs(weight)
        # Table by table: memory for one only, and no rounding of a BLAS.
        mixed = np.zeros((rows, tables[0].shape[1]), np.float32)
        for table, (_, weight) in zip(tables, parts, strict=True):
            mixed += table if is_mean else np.float32(weight / whole) * table
        return mixed / np.float32(len(tables)) if is_mean else mixed

    def _parts(self, voice: str) -> tuple[tuple[str, float], ...]:
        """Return names and weights of a mix, negative after a minus; raises InputError."""
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
        added = subtracted = 0.0
        for _, weight in parts:
            if weight > 0:
                added += weight
            else:
                subtracted -= weight
        # If both are equal, what all voices have in common is gone: "Hello world." of three pairs had peaks
        # of 0.6, 9 and 58. At 9:11 they were 0.4 to 1.9; from 2:3 on 0.14 to 0.28, and 0.26 for one voice.
        # The
        # norm does not tell: it was 0.8 to 1.0 for all of these.
        if 3 * subtracted > 2 * added:
            raise InputError(
                "This mix takes away nearly all that it adds, and no voice is left: what is subtracted "
                "should weigh at most two thirds of what is added."
            )
        return parts

    def _part(self, part: str, sign: str) -> tuple[str, float]:
        match = _WEIGHTED.fullmatch(part.strip())
        name, weight = (match[1].strip(), float(match[2])) if match else (part.strip(), 1.0)
        if name not in self._tables:
            raise InputError(self._unknown(name))
        if not 0 < weight <= _MAX_WEIGHT:
            raise InputError(f"The weight of {name} in a mix should be above 0 and at most {_MAX_WEIGHT}.")
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
    """Return `ref_s` (width,) of an utterance: row `len(phonemes) - 1`, as stock Kokoro does.

    Symbols that the vocabulary lacks count too. An index beyond the table selects its last row.
    """
    return table[min(max(len(phonemes) - 1, 0), len(table) - 1)]


def languages_of(
    voices: Voices, voice: str, language: str | None, known: Mapping[str, SpokenLanguage]
) -> Callable[[str | None], str]:
    """Return a function from a voice, or None for `voice`, to the letter of its language.

    Args:
        voices: of the synthesizer.
        voice: of the request.
        language: letter or tag of a language that overrides those of the voices.
        known: the bundle's languages; a voice whose name has no language speaks the first, with a warning.

    Raises:
        InputError: the voice or the language is unknown.
    """
    if language is not None:
        language = find_language(language, known)

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
