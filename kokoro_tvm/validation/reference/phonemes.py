"""Reference phonemes: unmodified misaki with spaCy's tagger, which the voices were trained on."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kokoro_tvm.common.errors import ValidationError

SENTENCES = Path(__file__).with_name("sentences.txt")
_COMPONENTS = ["tok2vec", "tagger"]
_OTHERS = ["parser", "senter", "attribute_ruler", "lemmatizer", "ner"]
# The fields that spaCy requires in a model's meta.json. Sources of the archive write different names in them.
_META = {"lang": "en", "name": "core_web_sm", "version": "3.8.0", "spacy_version": ">=3.7.2,<3.9.0"}


@dataclass(frozen=True)
class ReferenceWord:
    """Word or punctuation mark as misaki reads it; `guessed`: no lexicon has it, so espeak-ng read it."""

    text: str
    phonemes: str
    space: str
    guessed: bool


def sentences(path: Path = SENTENCES) -> tuple[str, ...]:
    """Read the lines of a file of sentences, without comments."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def _make_reader(nlp: Any, british: bool) -> Callable[[str], list[ReferenceWord]]:
    """Build misaki's G2P for American or British English; it maps a sentence to words and marks."""
    from misaki import en, espeak

    fallback = espeak.EspeakFallback(british=british)
    guessed: set[str] = set()

    def guess(token: Any) -> tuple[str | None, int | None]:
        """Read a word by espeak-ng, and record that it was guessed."""
        guessed.add(token.text)
        phonemes: tuple[str | None, int | None] = fallback(token)
        return phonemes

    g2p = en.G2P.__new__(en.G2P)  # its constructor would look for an installed tagger
    g2p.version, g2p.british, g2p.nlp, g2p.unk = None, british, nlp, ""
    g2p.lexicon, g2p.fallback = en.Lexicon(british), guess

    def read(sentence: str) -> list[ReferenceWord]:
        """Read a sentence."""
        guessed.clear()
        _, tokens = g2p(sentence)
        return [ReferenceWord(t.text, t.phonemes or "", t.whitespace, t.text in guessed) for t in tokens]

    return read


@contextmanager
def misaki_english(tagger: Path, british: bool) -> Iterator[Callable[[str], list[ReferenceWord]]]:
    """Provide misaki's American or British English with the tagger of the stage `front_end`.

    Args:
        tagger: The archive that the stage wrote.
        british: British instead of American English.

    Raises:
        ValidationError: misaki, spaCy or espeak-ng cannot be imported.
    """
    try:
        import misaki.en
        import misaki.espeak  # noqa: F401
        import spacy
    except ImportError as error:
        raise ValidationError(
            f"The gate of the phonemes cannot be run, because misaki's reference needs {error.name}. "
            "Run `pip install 'misaki[en]' phonemizer-fork espeakng-loader`."
        ) from error
    with tagger_folder(tagger) as folder:
        yield _make_reader(spacy.load(folder, enable=_COMPONENTS, exclude=_OTHERS), british)


@contextmanager
def tagger_folder(tagger: Path) -> Iterator[Path]:
    """Unpack the archive of the stage `front_end` into a temporary folder for `spacy.load`."""
    with TemporaryDirectory() as folder:
        with zipfile.ZipFile(tagger) as archive:
            archive.extractall(folder)
        (Path(folder) / "meta.json").write_text(json.dumps(_META), encoding="utf-8")
        yield Path(folder)
