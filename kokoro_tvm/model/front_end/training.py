"""Train letter-to-sound on the lexicon: align, count, keep contexts that add information."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from kokoro_tvm.model.front_end.alignment import align
from kokoro_tvm.runtime.text.frontend.dictionary import Entry
from kokoro_tvm.runtime.text.frontend.letters import LONGEST_CONTEXT, letter_context

__all__ = ["train", "training_words"]

_SHORTEST_WORD, _LONGEST_WORD, _MOST_PHONEMES = 3, 16, 20


def training_words(entries: Mapping[str, Entry]) -> list[tuple[str, str]]:
    """Return the sorted (spelling, phonemes) of the entries to train on: words, no abbreviations."""
    words: dict[str, str] = {}
    for word, entry in sorted(entries.items()):
        phonemes = entry if isinstance(entry, str) else entry["DEFAULT"]
        is_word = word.isascii() and word.isalpha() and word != word.upper()
        if not phonemes or not is_word or " " in phonemes:
            continue
        if _SHORTEST_WORD <= len(word) <= _LONGEST_WORD and len(phonemes) <= _MOST_PHONEMES:
            words.setdefault(word.lower(), phonemes)
    return sorted(words.items())


def train(words: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the model of `runtime.text.frontend.letters.LetterToSound`: prefix of a context to phonemes.

    The result depends on the words alone.
    """
    model: dict[str, str] = {}
    examples = list(_examples(words))  # letters that are still ambiguous
    shorter = {"": ""}  # predictions of their contexts without the last character
    for length in range(1, LONGEST_CONTEXT + 1):
        counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for context, phonemes in examples:
            counts[context[:length]][phonemes] += 1
        predictions = {}
        for start, phoneme_counts in counts.items():
            best = min(phoneme_counts, key=lambda phonemes: (-phoneme_counts[phonemes], phonemes))
            if best != shorter[start[: length - 1]] or length == 1:
                model[start] = best
            if len(phoneme_counts) > 1:
                predictions[start] = best
        examples = [example for example in examples if example[0][:length] in predictions]
        shorter = predictions
    return model


def _examples(words: Sequence[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """Yield (context, phonemes) of every letter of every word."""
    for (spelling, _), parts in zip(words, align(words), strict=True):
        before = ""
        for place, phonemes in enumerate(parts):
            yield letter_context(spelling, place, before), phonemes
            before += phonemes
