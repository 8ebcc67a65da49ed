"""What a listener should know though nothing failed: another G2P, symbols left out, synthetic weights."""

from __future__ import annotations

import warnings

__all__ = ["SpeechWarning"]


class SpeechWarning(UserWarning):
    """Something about the speech that is worth one line; shown every time unless filtered."""


# Python shows a warning once for each place; a bundle of synthetic weights has to say so every time.
# Appended: a filter of the application's comes first.
warnings.filterwarnings("always", category=SpeechWarning, append=True)
