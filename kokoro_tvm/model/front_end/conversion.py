"""Convert the files of spaCy's model, misaki's lexicon and CLDR to the front end's file of a bundle.

The model has the layout of thinc's `Model.to_bytes`: nodes in the order of a walk through the network. Its
tables and layers are found by kind and order.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from srsly import msgpack

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.front_end.expressions import language_arrays, tokenizer_arrays
from kokoro_tvm.model.front_end.homograph_file import homograph_arrays
from kokoro_tvm.model.front_end.network_file import network_arrays, shared_network_arrays
from kokoro_tvm.model.front_end.pronunciations import CMUDICT_FILE, convert_phones, read_cmudict
from kokoro_tvm.model.front_end.sound_rules import compile_sounds, list_sound_languages
from kokoro_tvm.model.front_end.text_rules import compile_language, list_languages
from kokoro_tvm.model.front_end.training import train, training_words
from kokoro_tvm.model.safetensors_file import write_arrays
from kokoro_tvm.runtime.text.frontend.data import CONTEXT_LAYERS, FIELD_SEPARATOR, FORMAT, SUBFIELD_SEPARATOR
from kokoro_tvm.runtime.text.frontend.dictionary import Dictionary, Entry, pack_dictionary
from kokoro_tvm.runtime.text.frontend.hashing import string_id
from kokoro_tvm.runtime.text.frontend.joint_ngrams import JointNgrams
from kokoro_tvm.runtime.text.frontend.lexicon import FollowingSound, Lexicon

Arrays = dict[str, NDArray[Any]]

TAGGER_FILES = ("tok2vec/model", "tagger/model", "tagger/cfg", "tokenizer", "vocab/lookups.bin")
"""Files of spaCy's model."""
LEXICON_FILES = ("us_gold.json", "us_silver.json", "gb_gold.json", "gb_silver.json")
"""Files of misaki: checked by hand, and generated, of American and British English."""
NOTICES = {
    "tagger": "en_core_web_sm 3.8.0, Copyright 2021 ExplosionAI GmbH, MIT; its sources: OntoNotes 5, and "
    "WordNet 3.0, Copyright 2006 by Princeton University",
    "lexicon": "misaki 0.9.4, hexgrad, Apache-2.0",
    "names": "The CMU Pronouncing Dictionary, Copyright 1993-2015 Carnegie Mellon University, BSD-2-Clause",
    "homographs": "learned from WikipediaHomographData by Google Inc., Apache-2.0",
    "text": "Unicode CLDR 48.2, Copyright 2004-2026 Unicode, Inc., Unicode License v3",
}
"""Notices in the file's metadata. docs/text.md has the texts of the licences."""

_FACTS = Path(__file__).with_name("spacy.json")
_ORTH, _NORM = 65, 67  # spaCy's ids of the attributes of an exception
_PARTS = {"maxout": {"weight": "W", "bias": "b"}, "layernorm": {"scale": "G", "shift": "b"}}


@dataclass(frozen=True)
class SpacyFacts:
    """Facts of spaCy's library that its models lack: ids of names, and norms of marks."""

    symbols: dict[str, int]
    norms: dict[str, str]


def read_spacy_facts() -> SpacyFacts:
    """Read the facts of spaCy 3.8."""
    content = json.loads(_FACTS.read_text(encoding="utf-8"))
    return SpacyFacts(content["symbols"], content["norms"])


def convert(folders: Mapping[str, Path], out: Path) -> None:
    """Write the file that `runtime.text.frontend.data` reads; equal inputs give equal bytes.

    Args:
        folders: Folders of the parts: "tagger" (spaCy's model), "lexicon" (misaki's), and if the recipe has
            them "cmudict" (else no names), "cldr" (else no written forms).
        out: The file.

    Raises:
        BuildError: A file has unexpected content.
        RecipeError: A language file is invalid.
    """
    tagger, cldr = folders["tagger"], folders.get("cldr")
    arrays = tagger_arrays(tagger) | _rule_arrays(tagger) | homograph_arrays(tagger / TAGGER_FILES[0])
    arrays |= shared_network_arrays()
    arrays["format"] = np.array([FORMAT], np.int32)
    cmudict = read_cmudict(folders["cmudict"] / CMUDICT_FILE) if "cmudict" in folders else {}
    for variant in ("us", "gb"):
        arrays |= _lexicon_arrays(folders["lexicon"], variant, cmudict)
    if cldr is not None:
        for language in list_languages():
            forms = json.dumps(compile_language(language, cldr), ensure_ascii=False, separators=(",", ":"))
            arrays[f"text.{language}"] = _bytes(zlib.compress(forms.encode(), 9))
            if language in ("en", *list_sound_languages()):  # libkokoro reads these
                arrays |= language_arrays(language, json.loads(forms))
    for language in list_sound_languages():
        sounds = json.dumps(compile_sounds(language), ensure_ascii=False, separators=(",", ":"))
        arrays[f"sounds.{language}"] = _bytes(zlib.compress(sounds.encode(), 9))
    widest_first = sorted(arrays.items(), key=lambda item: -item[1].itemsize)  # for alignment
    write_arrays(out, dict(widest_first), NOTICES)


def tagger_arrays(folder: Path) -> Arrays:
    """Return the float32 tensors of the tagger by their names in a bundle.

    Raises:
        BuildError: The network is another one.
    """
    nodes = _nodes(folder / "tok2vec/model")
    tables = _tables(folder)
    maxouts = [parameters for name, parameters in nodes if name == "maxout"]
    norms = [parameters for name, parameters in nodes if name == "layernorm"]
    scores = [parameters for name, parameters in _nodes(folder / "tagger/model") if name == "softmax"]
    if (len(tables), len(maxouts), len(norms), len(scores)) != (6, CONTEXT_LAYERS + 1, CONTEXT_LAYERS + 1, 1):
        raise BuildError(
            f"{folder}: expected 6 embeddings, {CONTEXT_LAYERS + 1} maxout layers with normalisation, one of "
            f"scores, found {len(tables)}, {len(maxouts)}, {len(norms)} and {len(scores)}"
        )
    arrays = {"embeddings": np.concatenate(tables)}
    for index, (layer, norm) in enumerate(zip(maxouts, norms, strict=True)):
        name = f"layer.{index - 1}" if index else "mix"
        for parameters, kind in ((layer, "maxout"), (norm, "layernorm")):
            arrays |= {
                f"{name}.{ours}": _pieces_first(parameters[theirs]) for ours, theirs in _PARTS[kind].items()
            }
    arrays |= {"scores.weight": scores[0]["W"], "scores.bias": scores[0]["b"]}
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype != np.float32:
            raise BuildError(f"{folder}: {name} is no float32 tensor")
    return arrays


def _pieces_first(array: NDArray[Any]) -> NDArray[Any]:
    """Turn a maxout's weight or bias (outputs, pieces, ...) to (pieces, outputs, ...)."""
    return np.ascontiguousarray(np.swapaxes(array, 0, 1)) if array.ndim > 1 else array


def _nodes(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return (name, parameters) of every node of a network."""
    with _reading(path):
        content = msgpack.loads(path.read_bytes(), raw=False)
        return [(node["name"], p) for node, p in zip(content["nodes"], content["params"], strict=True)]


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn errors of a file's content into a BuildError."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BuildError(f"{path} has no data that this version reads: {error!r}") from error


def _tables(folder: Path) -> list[NDArray[Any]]:
    """Return the tables of the tagger's hash embeddings."""
    return [parameters["E"] for name, parameters in _nodes(folder / "tok2vec/model") if name == "hashembed"]


def _rule_arrays(folder: Path) -> Arrays:
    """Return the tensors of tokenizer, labels and norms."""
    facts = read_spacy_facts()
    with _reading(folder):
        tokenizer = msgpack.loads((folder / "tokenizer").read_bytes(), raw=False)
        labels = json.loads((folder / "tagger/cfg").read_text(encoding="utf-8"))["labels"]
        norms = msgpack.loads((folder / "vocab/lookups.bin").read_bytes(), raw=False)["lexeme_norm"]
        marks = {string_id(word, facts.symbols): norm for word, norm in facts.norms.items()}
        patterns = {
            "prefix": tokenizer["prefix_search"],
            "suffix": tokenizer["suffix_search"],
            "infix": tokenizer["infix_finditer"],
            "url": tokenizer["url_match"],
        }
        exceptions = {
            word: FIELD_SEPARATOR.join(
                piece[_ORTH] + SUBFIELD_SEPARATOR + piece.get(_NORM, "") for piece in pieces
            )
            for word, pieces in tokenizer["exceptions"].items()
        }
        written = json.dumps(patterns, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        return {
            "rules": _bytes(zlib.compress(written.encode("utf-8", "surrogatepass"), 9)),
            "exceptions": _bytes(pack_dictionary(exceptions)),
            "labels": _bytes("\n".join(labels).encode()),
            "rows": np.array([len(table) for table in _tables(folder)], np.int32),
            "norms": _bytes(pack_dictionary({f"{key:016x}": norm for key, norm in (marks | norms).items()})),
            "symbols": _bytes(pack_dictionary({word: str(key) for word, key in facts.symbols.items()})),
            **tokenizer_arrays(patterns),
        }


def _lexicon_arrays(folder: Path, variant: str, cmudict: Mapping[str, Sequence[str]]) -> Arrays:
    """Return the tensors of one English: its lexicon, names from CMUdict, and letter-to-sound."""
    gold, silver = (_entries(folder / f"{variant}_{kind}.json") for kind in ("gold", "silver"))
    packed = pack_dictionary(gold), pack_dictionary(silver)
    lexicon = Lexicon(Dictionary(packed[0]), Dictionary(packed[1]), variant == "gb")

    def is_known(word: str) -> bool:
        return lexicon.read(word.capitalize(), "NNP", FollowingSound(), None) is not None

    converted = convert_phones(cmudict, plain_words(gold), is_known, variant == "gb") if cmudict else {}
    names = {word: readings[0] for word, readings in converted.items()}
    words = plain_words({**silver, **gold})
    letters = train(training_words(names | words))
    return {
        f"lexicon.{variant}.gold": _bytes(packed[0]),
        f"lexicon.{variant}.silver": _bytes(packed[1]),
        f"lexicon.{variant}.names": _bytes(pack_dictionary(names)),
        f"letters.{variant}": _bytes(letters),
        **network_arrays(variant, JointNgrams(letters).graphones),
    }


def plain_words(entries: Mapping[str, Entry]) -> dict[str, str]:
    """Return the entries that are words of the letters a to z, no abbreviations, in small letters."""
    words: dict[str, str] = {}
    for word, entry in sorted(entries.items()):
        phonemes = entry if isinstance(entry, str) else entry["DEFAULT"]
        if phonemes and " " not in phonemes and word.isascii() and word.isalpha() and word != word.upper():
            words.setdefault(word.lower(), phonemes)
    return words


def _entries(path: Path) -> Mapping[str, Entry]:
    """Read one file of misaki's lexicon. Raises ValueError."""
    with _reading(path):
        entries: dict[str, Entry] = json.loads(path.read_text(encoding="utf-8"))
        for word, entry in entries.items():
            if not isinstance(entry, str) and "DEFAULT" not in entry:
                raise ValueError(f"{word} has no phonemes")
        return entries


def _bytes(data: bytes) -> NDArray[np.uint8]:
    """View bytes as uint8 (n,)."""
    return np.frombuffer(data, np.uint8)
