"""Packages that each language needs, and whether they are installed, without importing them."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from dataclasses import dataclass

_MISAKI_ENDS = (3, 13)  # misaki 0.9.4, the last release, needs an older Python


@dataclass(frozen=True)
class LanguagePackages:
    """Packages of a G2P.

    Attributes:
        name: For messages.
        extra: The extra of kokoro-tvm that installs them.
        modules: Package to its module.
    """

    name: str
    extra: str
    modules: dict[str, str]

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the packages that are not installed."""
        return tuple(p for p, module in self.modules.items() if importlib.util.find_spec(module) is None)

    @property
    def remedy(self) -> str:
        """What to do to have them."""
        if "misaki" in self.modules and sys.version_info >= _MISAKI_ENDS:
            return "use Python 3.10 to 3.12, which is what misaki is made for"
        return f"run `pip install {shlex.join(self.modules)}`"


ESPEAK = LanguagePackages(
    "espeak-ng", "espeak", {"phonemizer-fork": "phonemizer", "espeakng-loader": "espeakng_loader"}
)
JAPANESE = LanguagePackages(
    "misaki with MeCab",
    "japanese",
    {name: name.replace("-", "_") for name in ("misaki", "fugashi", "jaconv", "mojimoji", "unidic-lite")},
)
CHINESE = LanguagePackages(
    "misaki with jieba",
    "chinese",
    {
        name: name.replace("-", "_")
        for name in ("misaki", "jieba", "pypinyin", "g2pM", "cn2an", "ordered-set")
    },
)


def find_packages(code: str) -> LanguagePackages:
    """Return the packages that a language needs if the bundle has no front end for it."""
    return {"j": JAPANESE, "z": CHINESE}.get(code, ESPEAK)
