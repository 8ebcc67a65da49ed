"""A user's lexicon: a YAML file of `word: phonemes`, each mistake with its file, line and column."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.text.frontend.user_lexicon import UserLexicon
from kokoro_tvm.runtime.text.markup.values import check_symbols
from kokoro_tvm.runtime.text.yaml_file import YamlFile

__all__ = ["read_lexicon"]

_LONGEST = 200  # characters of a word, and of its phonemes


def read_lexicon(path: str | Path, symbols: Collection[str]) -> UserLexicon:
    """The words of a file and their phonemes, which are of `symbols`.

    Raises InputError for what cannot be read, is no mapping, has a word twice, or phonemes that are unknown.
    """
    file = YamlFile(Path(path), "lexicon", "word: phonemes", "a word or its phonemes", _LONGEST)
    entries: dict[str, str] = {}
    lines: dict[str, int] = {}
    for key, value in file.pairs():
        word, phonemes = file.string(key), file.string(value)
        spelled = " ".join(word.split())
        if spelled in entries:
            raise file.error(key, f"'{word}' stands in line {lines[spelled]} already. Remove one of them.")
        try:
            entries[spelled] = check_symbols(phonemes, symbols)
        except InputError as error:
            raise file.error(value, str(error)) from error
        lines[spelled] = file.line(key)
    return UserLexicon(entries)
