"""Modules of this package that are found by a name in a recipe: a patch, a pass, a kind of target."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

__all__ = ["LOADED", "load"]

LOADED = "kokoro_tvm.loaded"
"""The audit event of each, with the module's name: it is then among what a stage used."""


def load(module: str) -> ModuleType:
    """Imports a module by its whole name. Raises as an import does."""
    sys.audit(LOADED, module)
    return import_module(module)
