"""Digests: one number for everything that goes into a stage, so that only what changed is built again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

__all__ = ["digest"]


def digest(value: Mapping[str, Any]) -> str:
    """sha256 over canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
