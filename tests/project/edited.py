"""A copy of the package in which one thing at a time is edited, and what that makes stale."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kokoro_tvm.engine.used import used_again


@dataclass(frozen=True)
class Function:
    """One of a module or class, by its place in the package: "ops/stft.py", "stft"; lines of its file."""

    file: str
    name: str
    first: int
    last: int
    indent: int

    @property
    def key(self) -> str:
        """As traces name it."""
        module = self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        return f"kokoro_tvm.{module}:{self.name}"


def functions_in(package: Path, *rooms: str) -> list[Function]:
    """Every function of these rooms, or files."""
    places = [package / room for room in rooms]
    files = sorted(path for place in places for path in ([place] if place.is_file() else place.rglob("*.py")))
    return [
        found
        for path in files
        for found in _functions(
            ast.parse(path.read_text(encoding="utf-8")), str(path.relative_to(package)), ""
        )
    ]


def _functions(tree: ast.Module | ast.ClassDef, file: str, prefix: str) -> Iterator[Function]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from _functions(node, file, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            last = node.body[-1]
            assert last.end_lineno is not None
            yield Function(file, f"{prefix}{node.name}", node.lineno, last.end_lineno, last.col_offset)


class Edited:
    """package: the copy; derivations: of the stages of a build, by name."""

    def __init__(self, package: Path, derivations: Mapping[str, Mapping[str, Any]]) -> None:
        self.package = package
        self._derivations = {name: d for name, d in derivations.items() if "code" in d}
        self._before = self._now()

    def _now(self) -> dict[str, Any]:
        return {name: used_again(derivation) for name, derivation in self._derivations.items()}

    def ran(self, function: Function) -> set[str]:
        """The stages whose runs executed a function."""
        return {name for name, d in self._derivations.items() if f"{function.key}()" in d["code"]}

    def stale(self) -> set[str]:
        """The stages that used something that is no longer what it was."""
        return {name for name, used in self._now().items() if used != self._before[name]}

    @contextmanager
    def edit(self, file: str, old: str, new: str) -> Iterator[None]:
        """While entered, the first `old` in a file is `new`."""
        path = self.package / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(text, encoding="utf-8")

    @contextmanager
    def edit_function(self, function: Function) -> Iterator[None]:
        """While entered, a function has a statement more, which does nothing."""
        path = self.package / function.file
        text = path.read_text(encoding="utf-8")
        lines = text.split("\n")
        if function.first == function.last:  # `def f(): return 1`
            lines[function.last - 1] += "; nothing = None"
        else:
            lines.insert(function.last, f"{' ' * function.indent}nothing = None")
        path.write_text("\n".join(lines), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(text, encoding="utf-8")
