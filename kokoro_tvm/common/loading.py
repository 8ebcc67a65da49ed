"""Import of modules by names in a recipe: patches, passes, kinds of targets."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

LOADED = "kokoro_tvm.loaded"
"""Audit event of an import, with the module's name; the engine records it as code that a stage used."""


def load(module: str) -> ModuleType:
    """Import a module by its full name, and tell the build's audit hooks.

    Raises ImportError if there is none.
    """
    sys.audit(LOADED, module)
    return import_module(module)
