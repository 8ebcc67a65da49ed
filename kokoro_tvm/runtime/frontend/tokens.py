"""What the front end makes of a text: tokens with their phonemes and their place in the source."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Token", "Utterance"]


@dataclass(frozen=True)
class Token:
    """A word or a mark.

    text: as it is read, after normalisation ("two dollars" for "$2"); start, end: the characters of the
    source text it stands for, as a slice; tag: the part of speech (Penn Treebank), "" where none is known;
    phonemes: in the model's alphabet, "" where nothing is spoken; space: what stands between it and the next
    token in the string of phonemes, " " or ""; origin: what the phonemes come from, as `kokoro-tvm phonemize`
    prints it ("lexicon", "letters", "espeak", "given", "mark", ...).
    """

    text: str
    start: int
    end: int
    phonemes: str
    space: str = " "
    tag: str = ""
    origin: str = ""


@dataclass(frozen=True)
class Utterance:
    """Tokens that are spoken in one breath, and the seconds of silence asked for after them.

    pause: None leaves the pause to the marks and the settings.
    """

    tokens: tuple[Token, ...]
    pause: float | None = None

    @property
    def phonemes(self) -> str:
        """The string of phonemes that the tokens write, without space at both ends."""
        return "".join(token.phonemes + token.space for token in self.tokens).strip()
