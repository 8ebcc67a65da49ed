"""What a patch is, and the usual way to make one: other methods for modules that have a stock one."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import MethodType
from typing import Any

from torch import nn

from kokoro_tvm.errors import BuildError

__all__ = ["Patch", "method_patch", "stock_attribute"]


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
        undo: list[tuple[nn.Module, str]] = []
        try:
            for dotted, function in replaces.items():
                undo += _replace(name, module, dotted, function)
            yield
        finally:
            for instance, method in undo:
                del instance.__dict__[method]

    return Patch(name, tuple(replaces), apply)


def stock_attribute(dotted: str) -> Any:
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
    patch: str, module: nn.Module, dotted: str, function: Callable[..., Any]
) -> list[tuple[nn.Module, str]]:
    """Binds `function` on every module below whose class still has the stock method; returns what to undo."""
    stock, method = stock_attribute(dotted), dotted.rpartition(".")[2]
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
    return [(instance, method) for instance in instances]
