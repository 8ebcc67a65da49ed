"""Digests: one number for everything that goes into a stage, so that only what changed is built again."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["digest", "file_sha256", "installed", "versions"]


def digest(ingredients: Mapping[str, Any]) -> str:
    """sha256 over canonical JSON."""
    text = json.dumps(ingredients, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """sha256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def versions(*packages: str) -> dict[str, str]:
    """Installed versions of these distributions, and Python's."""
    return {"python": platform.python_version()} | {p: _version(p) for p in packages}


def installed(package: str) -> str | None:
    """Version of a distribution that may be missing."""
    try:
        return _version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@cache
def _version(package: str) -> str:
    return importlib.metadata.version(package)
