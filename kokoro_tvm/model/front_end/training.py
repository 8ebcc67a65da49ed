"""Trains letter-to-sound on the lexicon: align, count, keep what says more than what is shorter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kokoro_tvm.model.front_end.alignment import align
from kokoro_tvm.runtime.text.frontend.dictionary import Entry
from kokoro_tvm.runtime.text.frontend.letters import LONGEST, context_of

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
    # (context, phonemes, what a shorter context says) of the letters that are still read in several ways.
    open_examples = [(context, phonemes, "") for context, phonemes in _examples(words)]
    for length in range(1, LONGEST + 1):
        groups: dict[str, list[tuple[str, str, str]]] = {}
        for example in open_examples:
            groups.setdefault(example[0][:length], []).append(example)
        open_examples = []
        for start, group in groups.items():
            found = Counter(phonemes for _, phonemes, _ in group)
            best = min(found, key=lambda phonemes: (-found[phonemes], phonemes))
            if best != group[0][2] or length == 1:
                model[start] = best
            if len(found) > 1:
                open_examples += [(context, phonemes, best) for context, phonemes, _ in group]
    return model


def _examples(words: Sequence[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """(context, phonemes) of every letter of every word."""
    for (spelling, _), parts in zip(words, align(words), strict=True):
        before = ""
        for place, phonemes in enumerate(parts):
            yield context_of(spelling, place, before), phonemes
            before += phonemes
