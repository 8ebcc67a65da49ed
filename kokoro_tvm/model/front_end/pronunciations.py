"""Words of the CMU Pronouncing Dictionary that misaki's lexicon lacks, in misaki's alphabet.

ARPAbet becomes misaki's phonemes by a joint n-gram model, trained on the words that both have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.front_end.alignment import align
from kokoro_tvm.model.front_end.training import train, training_words
from kokoro_tvm.runtime.text.frontend.alphabet import CONSONANTS
from kokoro_tvm.runtime.text.frontend.joint_ngrams import JointNgrams

CMUDICT_FILE = "cmudict.dict"
"""File of the CMU Pronouncing Dictionary."""

_ENTRY = re.compile(
    r"(?P<word>[a-z]{3,}|[a-z]+'[a-z]{2,})(\(\d+\))? (?P<phones>[A-Z0-2 ]+)"
)  # no possessives
_FIRST_CHARACTER = 0xE000  # private use
_FEWEST = 200  # vowels of a letter that get a character of their own
_MAX_HYPOTHESES = 4  # a phone has few readings
# British English has no r there. The model learns it badly: inside of words, the same sounds often have an r.
_SILENT_R = re.compile(f"ɹ(?=[{''.join(sorted(CONSONANTS - {'j'}))}]|$)")


def read_cmudict(path: Path) -> dict[str, list[str]]:
    """Return the words, without apostrophes, with their pronunciations, a character for each phone.

    A vowel has several characters, by the letter that it is written with: ARPAbet has one vowel for "saw" and
    "soft", and one for "rabbit" and "comet".

    Raises:
        BuildError: The file has no entries.
    """
    entries: list[tuple[str, list[str]]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if (match := _ENTRY.fullmatch(line.partition("#")[0].strip())) is not None:
            entries.append((match["word"].replace("'", ""), match["phones"].split()))
    if not entries:
        raise BuildError(f"{path} has no entries of the CMU Pronouncing Dictionary")
    phones = sorted({phone for _, pronunciation in entries for phone in pronunciation})
    characters = {phone: chr(_FIRST_CHARACTER + index) for index, phone in enumerate(phones)}
    vowels = frozenset(characters[phone] for phone in phones if phone[-1].isdigit())
    words = [(word, "".join(map(characters.__getitem__, entry))) for word, entry in entries]
    written = [_name_letters(word, parts) for (word, _), parts in zip(words, align(words), strict=True)]
    counts = Counter(pair for pairs in written for pair in pairs if pair[0] in vowels)
    frequent = sorted(pair for pair, count in counts.items() if count >= _FEWEST)
    own = {pair: chr(_FIRST_CHARACTER + len(phones) + index) for index, pair in enumerate(frequent)}
    result: dict[str, list[str]] = {}
    for (word, plain), pairs in zip(words, written, strict=True):
        result.setdefault(word, []).append("".join(own.get(pair, pair[0]) for pair in pairs) or plain)
    return result


def _name_letters(word: str, parts: Sequence[str]) -> list[tuple[str, str]]:
    """Return each phone with its letter."""
    return [(phone, letter) for letter, phones in zip(word, parts, strict=False) for phone in phones]


def convert_phones(
    cmudict: Mapping[str, Sequence[str]],
    lexicon: Mapping[str, str],
    is_known: Callable[[str], bool],
    british: bool,
) -> dict[str, list[str]]:
    """Return the pronunciations of the words that are not known, in the lexicon's alphabet.

    Args:
        cmudict: Words with the phones of their pronunciations.
        lexicon: Words with phonemes, checked by hand, to learn from.
        is_known: Whether a word needs no pronunciation.
        british: Whether the lexicon is British.
    """
    common = {word: phones for word, (phones, *_) in cmudict.items() if word in lexicon}
    spelled = dict(training_words({phones: lexicon[word] for word, phones in common.items()}))
    model = JointNgrams(train(sorted(spelled.items())), max_hypotheses=_MAX_HYPOTHESES)
    converted: dict[str, list[str]] = {}
    for word, pronunciations in cmudict.items():
        if not is_known(word) and (readings := [r for phones in pronunciations if (r := model.read(phones))]):
            converted[word] = [_SILENT_R.sub("", reading) for reading in readings] if british else readings
    return converted
