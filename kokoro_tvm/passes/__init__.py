"""The compiler passes a recipe may list, one to a file: `apply(module, context) -> module`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from kokoro_tvm.errors import BuildError
from kokoro_tvm.loading import load
from kokoro_tvm.passes.base.context import LoweringContext

__all__ = ["LoweringContext", "available", "run"]


def available() -> list[str]:
    """The names a recipe may use."""
    return sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))


def run(
    module: Any,
    names: Iterable[str],
    context: LoweringContext,
    dump: Callable[[str, Any], None] = lambda name, module: None,
) -> Any:
    """Applies the passes in order, handing every result to `dump`. Raises BuildError for an unknown name."""
    for name in names:
        if name not in available():
            raise BuildError(f"unknown pass {name!r}; there are: {', '.join(available())}")
        module = load(f"{__name__}.{name}").apply(module, context)
        dump(name, module)
    return module
