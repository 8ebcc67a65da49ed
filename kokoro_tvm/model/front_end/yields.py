"""Outputs of the stage `front_end`, and the digests that they depend on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kokoro_tvm.recipe.front_end import FrontEndSpec

FILES = ("front_end.safetensors", "tagger.zip", "front_end.json")
"""The bundle's file; the tagger's own files, for the reference; the digests of what was fetched."""
TEXT = Path(__file__).with_name("text")
"""Files of written forms, one a language."""
SOUNDS = Path(__file__).with_name("sounds")
"""Files of letter-to-sound rules, one a language."""

CONVERTERS = ("kokoro_tvm.model.front_end.conversion:convert", "kokoro_tvm.model.front_end.fetch:pack")
"""Functions that write them."""

FACTS = (
    "model/front_end/spacy.json",
    "model/front_end/homographs.json",
    "model/front_end/homographs.safetensors",
    "model/front_end/letter_network.safetensors",
    *(
        f"model/front_end/{path.parent.name}/{path.name}"
        for path in sorted((*TEXT.glob("*.yaml"), *SOUNDS.glob("*.yaml")))
    ),
)
"""Files of this package that they read."""


def pinned_digests(front_end: FrontEndSpec) -> dict[str, Any]:
    """Return the digests of all files that decide about the output, besides the code."""
    parts = {name: getattr(front_end, name) for name in ("tagger", "lexicon", "cmudict", "cldr")}
    return {name: dict(pinned.files) for name, pinned in parts.items() if pinned is not None}
