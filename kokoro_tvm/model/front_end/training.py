"""Trains letter-to-sound on the lexicon: align, count, keep what says more than what is shorter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from kokoro_tvm.model.front_end.alignment import align
from kokoro_tvm.runtime.text.frontend.dictionary import Entry
from kokoro_tvm.runtime.text.frontend.letters import LONGEST_CONTEXT, letter_context

__all__ = ["train", "training_words"]

_SHORTEST_WORD, _LONGEST_WORD, _MOST_PHONEMES = 3, 16, 20


def training_words(entries: Mapping[str, Entry]) -> list[tuple[str, str]]:
    """(spelling, phonemes) of the entries that rules can be learned from: words, no abbreviations; sorted."""
    found: dict[str, str] = {}
    for word, entry in sorted(entries.items()):
        phonemes = entry if isinstance(entry, str) else entry["DEFAULT"]
        spelled = word.isascii() and word.isalpha() and word != word.upper()
        if not phonemes or not spelled or " " in phonemes:
            continue
        if _SHORTEST_WORD <= len(word) <= _LONGEST_WORD and len(phonemes) <= _MOST_PHONEMES:
            found.setdefault(word.lower(), phonemes)
    return sorted(found.items())


def train(words: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The model that `runtime.text.frontend.letters.Letters` reads: beginning of a context -> phonemes.

    The same words give the same model.
    """
    model: dict[str, str] = {}
    examples = list(_examples(words))  # of the letters that are still read in several ways
    shorter = {"": ""}  # what their contexts say without the last character
    for length in range(1, LONGEST_CONTEXT + 1):
        counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for context, phonemes in examples:
            counts[context[:length]][phonemes] += 1
        said = {}
        for start, found in counts.items():
            best = min(found, key=lambda phonemes: (-found[phonemes], phonemes))
            if best != shorter[start[: length - 1]] or length == 1:
                model[start] = best
            if len(found) > 1:
                said[start] = best
        examples = [example for example in examples if example[0][:length] in said]
        shorter = said
    return model


def _examples(words: Sequence[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """(context, phonemes) of every letter of every word."""
    for (spelling, _), parts in zip(words, align(words), strict=True):
        before = ""
        for place, phonemes in enumerate(parts):
            yield letter_context(spelling, place, before), phonemes
            before += phonemes
