"""What the pinned compilers know by name: LLVM's CPUs, features and triples, TVM's passes, NVRTC's GPUs.

LLVM and TVM ignore a name that they do not know, so recipes are checked against these. Most are in a file,
because checking a recipe loads no compiler; a test compares it with the compilers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kokoro_tvm.common.platforms import WEB, parse_triple
from kokoro_tvm.common.words import nearest

__all__ = ["FILE", "CompilerNames", "compiler_names", "unknown_in_triple"]

FILE = Path(__file__).with_suffix(".json")

# Operating systems in triples -> what may follow, of what LLVM knows.
_SYSTEMS: Mapping[str, tuple[str, ...]] = {
    "linux": ("gnu", "musl"),
    "windows": ("gnu", "msvc"),
    "ios": ("simulator",),
    **dict.fromkeys(("darwin", "macos", "macosx"), ()),
}
_WEB_SYSTEMS: Mapping[str, tuple[str, ...]] = dict.fromkeys(("unknown", "wasi", "emscripten"), ())
_VERSION = re.compile(r"[0-9.]+$")


@dataclass(frozen=True)
class CompilerNames:
    """cpus, features: architecture, as LLVM's triples name it, to LLVM's names; passes: TVM's, as a
    PassContext takes them; gpus: architectures that NVRTC compiles for, `sm_80`."""

    cpus: Mapping[str, tuple[str, ...]]
    features: Mapping[str, tuple[str, ...]]
    passes: tuple[str, ...]
    gpus: tuple[str, ...]


@cache
def compiler_names() -> CompilerNames:
    """Those of the versions that pyproject.toml pins."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    cpus, features = (
        {key: tuple(names.split()) for key, names in data[field].items()} for field in ("cpus", "features")
    )
    return CompilerNames(cpus, features, tuple(data["passes"].split()), tuple(data["gpus"].split()))


def unknown_in_triple(triple: str) -> tuple[str, str, Sequence[str]] | None:
    """The first word that names nothing code is compiled for: what it should name, the word, and what there
    is to choose from. None where every word is known.

    LLVM takes any vendor, and a version after a system or an environment.
    """
    architecture, *words = triple.split("-")
    meant, known = parse_triple(triple).architecture, sorted(compiler_names().cpus)
    if meant not in known:
        return "architecture", architecture, [*known, "arm64"]
    systems = _WEB_SYSTEMS if meant == WEB.architecture else _SYSTEMS
    names = [_VERSION.sub("", word) for word in words]
    at = next((index for index in (1, 0) if index < len(names) and names[index] in systems), None)
    if at is None:
        has_vendor = len(words) > 1 and nearest(names[0], systems) is None
        return "operating system", words[has_vendor], sorted(systems)
    environments = systems[names[at]]
    behind = zip(words[at + 1 :], names[at + 1 :], strict=True)
    return next((("environment", w, environments) for w, name in behind if name not in environments), None)
