"""The phonemes of seven languages that stock kokoro speaks, by misaki as its pipeline calls it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

__all__ = ["SENTENCES", "reference", "sentences"]

SENTENCES = Path(__file__).with_name("languages.txt")
_ESPEAK = {"e": "es", "f": "fr-fr", "h": "hi", "i": "it", "p": "pt-br"}


def sentences(code: str) -> tuple[str, ...]:
    """The sentences of the language of `code`, a letter of `LANGUAGES`."""
    lines = (line.split("\t") for line in SENTENCES.read_text(encoding="utf-8").splitlines())
    return tuple(line[1] for line in lines if line[0] == code)


def reference(code: str) -> Callable[[str], str]:
    """misaki's converter, from a text to its phonemes. Raises ImportError where its packages are missing."""
    if code in _ESPEAK:
        from misaki.espeak import EspeakG2P

        g2p = EspeakG2P(language=_ESPEAK[code])
    elif code == "j":
        from misaki.ja import JAG2P

        g2p = JAG2P()
    else:
        from misaki.zh import ZHG2P

        g2p = ZHG2P(version=None)
    return lambda text: str(g2p(text)[0])
