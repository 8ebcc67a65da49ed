"""Finds patches by name and puts them in force."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from torch import nn

from kokoro_tvm.errors import BuildError
from kokoro_tvm.loading import load
from kokoro_tvm.patches.base.patch import Patch

__all__ = ["applied", "available", "get", "source"]

_FOLDER = Path(__file__).parents[1]


def available() -> tuple[str, ...]:
    """Names of all patches: the files of this package that do not start with an underscore. Imports none."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.py") if not path.stem.startswith("_")))


def source(name: str) -> Path:
    """The file of a patch. Raises BuildError for an unknown name."""
    if name not in available():
        nearest = difflib.get_close_matches(name, available(), n=1)
        hint = f"did you mean {nearest[0]}?" if nearest else f"there are {', '.join(available())}"
        raise BuildError(f"unknown patch {name!r}: {hint}")
    return _FOLDER / f"{name}.py"


def get(name: str) -> Patch:
    """The patch of that name, importing its file. Raises BuildError for an unknown name."""
    source(name)
    patch: Patch = load(f"kokoro_tvm.patches.{name}").PATCH
    if patch.name != name:
        raise BuildError(f"the patch in {name}.py calls itself {patch.name!r}: name and file must agree")
    return patch


@contextmanager
def applied(names: Sequence[str], module: nn.Module) -> Iterator[None]:
    """Puts patches in force on a module (usually a component) in the order given; all is restored at the end,
    whatever happens.

    Raises BuildError for an unknown name, a name given twice, two patches that replace the same thing, and a
    patch that finds nothing to replace.
    """
    for name in names:
        if list(names).count(name) > 1:
            raise BuildError(f"patch {name!r} is listed twice: list it once")
    patches = [get(name) for name in names]
    owner: dict[str, str] = {}
    for patch in patches:
        for attribute in patch.replaces:
            if attribute in owner:
                both = f"{owner[attribute]} and {patch.name}"
                raise BuildError(f"patches {both} both replace {attribute}: keep one")
            owner[attribute] = patch.name
    with ExitStack() as scope:
        for patch in patches:
            scope.enter_context(patch.apply(module))
        yield
