"""Names that the pinned compilers know: LLVM's CPUs, features and triples, TVM's passes, NVRTC's GPUs.

LLVM and TVM ignore unknown names, so recipes are checked against these. They are stored in a file, because
checking a recipe must load no compiler. A test compares the file with the compilers.
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

FILE = Path(__file__).with_suffix(".json")

# Operating systems in triples -> the environments that may follow.
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
    """Names that the pinned compilers know.

    Attributes:
        cpus: LLVM's CPUs by architecture, as triples name it.
        features: LLVM's features by architecture.
        passes: TVM's passes, as a PassContext takes them.
        gpus: Architectures of NVRTC, such as sm_80.
    """

    cpus: Mapping[str, tuple[str, ...]]
    features: Mapping[str, tuple[str, ...]]
    passes: tuple[str, ...]
    gpus: tuple[str, ...]


@cache
def compiler_names() -> CompilerNames:
    """Return the names of the versions that pyproject.toml pins."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    cpus, features = (
        {key: tuple(names.split()) for key, names in data[field].items()} for field in ("cpus", "features")
    )
    return CompilerNames(cpus, features, tuple(data["passes"].split()), tuple(data["gpus"].split()))


def unknown_in_triple(triple: str) -> tuple[str, str, Sequence[str]] | None:
    """Return the first unknown word of a triple: what it should name, the word, and the choices; else None.

    LLVM accepts any vendor, and a version after a system or an environment.
    """
    architecture, *words = triple.split("-")
    canonical, architectures = parse_triple(triple).architecture, sorted(compiler_names().cpus)
    if canonical not in architectures:
        return "architecture", architecture, [*architectures, "arm64"]
    systems = _WEB_SYSTEMS if canonical == WEB.architecture else _SYSTEMS
    names = [_VERSION.sub("", word) for word in words]
    at = next((index for index in (1, 0) if index < len(names) and names[index] in systems), None)
    if at is None:
        has_vendor = len(words) > 1 and nearest(names[0], systems) is None
        return "operating system", words[has_vendor], sorted(systems)
    environments = systems[names[at]]
    behind = zip(words[at + 1 :], names[at + 1 :], strict=True)
    return next((("environment", w, environments) for w, name in behind if name not in environments), None)
