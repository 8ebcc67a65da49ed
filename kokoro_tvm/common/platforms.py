"""Platforms of code, by LLVM's triples, and the platform of this process."""

from __future__ import annotations

import platform
from dataclasses import dataclass

_ARCHITECTURES = {"AMD64": "x86_64", "arm64": "aarch64"}  # other names -> LLVM's
_SYSTEMS = {"linux": "linux", "windows": "windows", "darwin": "darwin", "macos": "darwin", "ios": "ios"}


@dataclass(frozen=True)
class Platform:
    """An architecture and a system.

    Attributes:
        architecture: LLVM's name.
        system: linux, windows, darwin, ios, or "" for another one.
    """

    architecture: str
    system: str

    def __str__(self) -> str:
        if self == WEB:
            return "WebAssembly"
        name = {"linux": "Linux", "windows": "Windows", "darwin": "macOS", "ios": "iOS"}.get(
            self.system, "another system"
        )
        return f"{name} on {self.architecture}"


WEB = Platform("wasm32", "")
"""Browsers and other engines of WebAssembly."""


def parse_triple(triple: str) -> Platform:
    """Return the platform of an LLVM triple, whose system may have a version: `arm64-apple-macos11.0`."""
    architecture, *words = triple.split("-")
    systems = (s for word in words for prefix, s in _SYSTEMS.items() if word.startswith(prefix))
    return Platform(_ARCHITECTURES.get(architecture, architecture), next(systems, ""))


def detect_platform() -> Platform:
    """Return the platform of this process."""
    machine, system = platform.machine(), platform.system().lower()
    return Platform(_ARCHITECTURES.get(machine, machine), _SYSTEMS.get(system, ""))
