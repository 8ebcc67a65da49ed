"""Patches: scoped, named replacements of pieces of the stock model, one per file.

A patch rewrites a stock module in terms of `kokoro_tvm.kernels`, so that `torch.export` yields a small graph
of these operations. Only the patches that a recipe lists are imported. Conventions:

* Activations have time before channels, (1, T, C), as kernels read them.
* Every forward takes `length`, int64 (1,), as its last argument: the number of valid steps of its own axis.
  None means all. Inputs and results beyond it are undefined.
* New tensors are created on the inputs' device, "meta" while exporting.
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

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.common.loading import load

__all__ = ["Patch", "apply_patches", "get_patch", "list_patches", "method_patch", "resolve_attribute"]


@dataclass(frozen=True)
class Patch:
    """A named patch.

    Attributes:
        name: Stem of its file.
        replaces: Dotted stock attributes that it replaces.
        apply: Maps a module to a context in which the patch is in force on that module and all below it.
    """

    name: str
    replaces: tuple[str, ...]
    apply: Callable[[nn.Module], AbstractContextManager[None]]


def method_patch(name: str, replaces: Mapping[str, Callable[..., Any]]) -> Patch:
    """Create a patch that replaces methods.

    Methods are replaced on the instances, so other models in the process stay stock.

    Args:
        name: Name of the patch.
        replaces: Dotted stock method (`package.module.Class.method`) to its replacement, `self` first.
    """

    @contextmanager
    def apply(module: nn.Module) -> Iterator[None]:
        """Replace the methods while the block runs."""
        with ExitStack() as undo:
            for dotted, function in replaces.items():
                _replace(name, module, dotted, function, undo)
            yield

    return Patch(name, tuple(replaces), apply)


def resolve_attribute(dotted: str) -> Any:
    """Return the object called `package.module.Class.attribute`.

    Raises:
        BuildError: No installed package has it.
    """
    parts = dotted.split(".")
    for count in range(len(parts) - 1, 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            if not hasattr(value, part):
                break
            value = getattr(value, part)
        else:
            return value
    raise BuildError(f"{dotted}, which a patch replaces, does not exist: install the pinned versions")


def _replace(
    patch: str, module: nn.Module, dotted: str, function: Callable[..., Any], undo: ExitStack
) -> None:
    """Bind `function` on every module whose class still has the stock method.

    Raises BuildError if none has it, or another patch has replaced it.
    """
    stock, method = resolve_attribute(dotted), dotted.rpartition(".")[2]
    instances = [m for m in module.modules() if getattr(type(m), method, None) is stock]
    if not instances:
        raise BuildError(
            f"patch {patch} replaces {dotted}, but nothing in {type(module).__name__} has it: remove the "
            "patch from this component's list"
        )
    for instance in instances:
        if method in instance.__dict__:
            raise BuildError(f"patch {patch} replaces {dotted}, which a patch in force has replaced already")
    for instance in instances:
        instance.__dict__[method] = MethodType(function, instance)
        undo.callback(instance.__dict__.__delitem__, method)


def list_patches() -> tuple[str, ...]:
    """Return the names of all patches, without importing them."""
    # They are the files of this package that do not start with an underscore.
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py")))


def get_patch(name: str) -> Patch:
    """Import a patch by name.

    Raises:
        BuildError: The name is unknown.
    """
    if name not in list_patches():
        nearest = difflib.get_close_matches(name, list_patches(), n=1)
        hint = f"did you mean {nearest[0]}?" if nearest else f"there are {', '.join(list_patches())}"
        raise BuildError(f"unknown patch {name!r}: {hint}")
    patch: Patch = load(f"{__name__}.{name}").PATCH
    return patch


@contextmanager
def apply_patches(names: Sequence[str], module: nn.Module) -> Iterator[None]:
    """Apply patches to a module (usually a component) in order; restore it at the end or on an error.

    Raises:
        BuildError: A name is unknown, a patch finds nothing to replace, or it replaces what another has
            replaced.
    """
    patches = [get_patch(name) for name in names]
    with ExitStack() as scope:
        for patch in patches:
            scope.enter_context(patch.apply(module))
        yield
