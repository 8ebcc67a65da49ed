"""The code that decides about a stage's outputs, as digests by module."""

from __future__ import annotations

from collections.abc import Sequence

from kokoro_tvm.engine.code import function_code, source_digests

__all__ = ["function_sources", "sources"]

# What only carries the recipe's words, turns errors into ours, or reads and keeps what others made.
_INERT = tuple(
    f"kokoro_tvm.{module}"
    for module in (
        *("errors", "spec", "words", "recipe", "recipe.checkpoint", "recipe.parts", "recipe.gates"),
        "recipe.front_end",
        *("truth.store", "engine.digest", "engine.disk", "engine.durable", "engine.inputs", "stages.base"),
    )
)


def sources(modules: Sequence[str], apart: Sequence[str] = ()) -> dict[str, str]:
    """Digests of the code of these modules and of what they import, less `apart` and what decides about no
    output."""
    return source_digests(modules, apart=[*apart, *_INERT])


def function_sources(function: str, besides: Sequence[str] = (), apart: Sequence[str] = ()) -> dict[str, str]:
    """The same of what a function, "module:name", imports, and of the modules `besides`."""
    _, imported = function_code(*function.split(":"))
    return sources([*(name for name in imported if name not in apart), *besides], apart)
