"""Patches: scoped, named replacements of pieces of the stock model; one file each.

A patch rewrites a stock module in terms of `kokoro_tvm.ops`, so that `torch.export` yields a small graph of
them. Only the patches that a recipe lists are imported. Conventions all of them share:

* activations have time before channels, (1, T, C), as kernels read them;
* every forward takes `length`, int64 (1,), as its last argument: how many steps of its own axis are valid.
  None means all. What stands beyond, in inputs and in results, is undefined;
* `device` of new tensors is the device of the inputs: "meta" while exporting.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MethodType
from typing import Any

from torch import nn

from kokoro_tvm.errors import BuildError
from kokoro_tvm.loading import load

__all__ = ["Patch", "apply_patches", "get_patch", "list_patches", "method_patch", "resolve_attribute"]


@dataclass(frozen=True)
class Patch:
    """name: its file's stem; replaces: dotted stock attributes; apply: module -> a context within which the
    patch is in force on that module and everything below it."""

    name: str
    replaces: tuple[str, ...]
    apply: Callable[[nn.Module], AbstractContextManager[None]]


def method_patch(name: str, replaces: Mapping[str, Callable[..., Any]]) -> Patch:
    """A patch of methods: dotted stock method (`package.module.Class.method`) -> function, `self` first.

    Methods are replaced on the instances, so other models in the process stay stock.
    """

    @contextmanager
    def apply(module: nn.Module) -> Iterator[None]:
        with ExitStack() as undo:
            for dotted, function in replaces.items():
                _replace(name, module, dotted, function, undo)
            yield

    return Patch(name, tuple(replaces), apply)


def resolve_attribute(dotted: str) -> Any:
    """What `package.module.Class.attribute` is. Raises BuildError when nothing installed is called that."""
    parts = dotted.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            if not hasattr(found, part):
                break
            found = getattr(found, part)
        else:
            return found
    raise BuildError(f"{dotted}, which a patch replaces, does not exist: install the pinned versions")


def _replace(
    patch: str, module: nn.Module, dotted: str, function: Callable[..., Any], undo: ExitStack
) -> None:
    """Binds `function` on every module below whose class still has the stock method."""
    stock, method = resolve_attribute(dotted), dotted.rpartition(".")[2]
    instances = [m for m in module.modules() if getattr(type(m), method, None) is stock]
    if not instances:
        raise BuildError(
            f"patch {patch} replaces {dotted}, but nothing in {type(module).__name__} has it: take the patch "
            "out of this component's list"
        )
    for instance in instances:
        if method in instance.__dict__:
            raise BuildError(f"patch {patch} replaces {dotted}, which a patch in force has replaced already")
    for instance in instances:
        instance.__dict__[method] = MethodType(function, instance)
        undo.callback(instance.__dict__.__delitem__, method)


def list_patches() -> tuple[str, ...]:
    """Names of all patches: the files of this package that do not start with an underscore. Imports none."""
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py")))


def get_patch(name: str) -> Patch:
    """The patch of that name, importing its file. Raises BuildError for an unknown name."""
    if name not in list_patches():
        nearest = difflib.get_close_matches(name, list_patches(), n=1)
        hint = f"did you mean {nearest[0]}?" if nearest else f"there are {', '.join(list_patches())}"
        raise BuildError(f"unknown patch {name!r}: {hint}")
    patch: Patch = load(f"{__name__}.{name}").PATCH
    return patch


@contextmanager
def apply_patches(names: Sequence[str], module: nn.Module) -> Iterator[None]:
    """Puts patches in force on a module (usually a component) in the order given; all is restored at the end,
    whatever happens.

    Raises BuildError for an unknown name, a patch that finds nothing to replace, and one that replaces what
    another has.
    """
    patches = [get_patch(name) for name in names]
    with ExitStack() as scope:
        for patch in patches:
            scope.enter_context(patch.apply(module))
        yield
