"""Copy of the package with one edit at a time, and the stages that the edit makes stale."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.used import rehash_used


@dataclass(frozen=True)
class Function:
    """Function of a module or class: its file ("kernels/stft.py"), name and lines."""

    file: str
    name: str
    first: int
    last: int
    indent: int

    @property
    def key(self) -> str:
        """Its name in traces."""
        return f"{_module(self.file)}:{self.name}"


def _module(file: str) -> str:
    return f"kokoro_tvm.{file.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}"


def import_edits(path: Path) -> Iterator[tuple[str, str]]:
    """Yield edits of what importing a module executes: the kind of edit, and the module's new text."""
    text = path.read_text(encoding="utf-8")

    def pick(kind: type[ast.AST], tree: ast.AST) -> list[Any]:
        return [
            node for outer in (tree, *pick_classes(tree)) for node in outer.body if isinstance(node, kind)
        ]

    def pick_classes(tree: Any) -> list[Any]:
        return [node for node in tree.body if isinstance(node, ast.ClassDef)]

    def decorate(tree: Any) -> list[Any]:
        functions = pick(ast.FunctionDef, tree)[:1]
        for function in functions:
            function.decorator_list.insert(0, ast.parse("lambda f: f", mode="eval").body)
        return functions

    def change_decorator(tree: Any) -> list[Any]:
        calls = [d for f in pick(ast.FunctionDef, tree) for d in f.decorator_list if isinstance(d, ast.Call)]
        for call in calls:
            call.keywords.append(ast.keyword("_more", ast.Constant(1)))
        return calls

    def add_default(tree: Any) -> list[Any]:
        functions = pick(ast.FunctionDef, tree)[-1:]
        for function in functions:
            function.args.kwonlyargs.append(ast.arg("_more"))
            function.args.kw_defaults.append(ast.Constant(1))
        return functions

    def change_default(tree: Any) -> list[Any]:
        functions = [f for f in pick(ast.FunctionDef, tree) if f.args.defaults][:1]
        for function in functions:
            function.args.defaults[-1] = ast.Constant("another")
        return functions

    def add_attribute(tree: Any) -> list[Any]:
        for class_ in pick_classes(tree)[:1]:
            class_.body.append(ast.parse("_MORE = 1").body[0])
        return pick_classes(tree)

    def change_constant(tree: Any) -> list[Any]:
        names = [n for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) != "__all__"]
        for assignment in names[:1]:
            assignment.value = ast.Constant("another")
        return names

    def register(tree: Any) -> list[Any]:
        tree.body.append(ast.parse("print.__call__('more')").body[0])
        return [tree]

    for edit in (
        *(decorate, change_decorator, add_default, change_default),
        *(add_attribute, change_constant, register),
    ):
        tree = ast.parse(text)
        if edit(tree):
            yield edit.__name__, ast.unparse(ast.fix_missing_locations(tree))


def functions_in(package: Path, *rooms: str) -> list[Function]:
    """Return every function of these folders or files."""
    places = [package / room for room in rooms]
    files = sorted(path for place in places for path in ([place] if place.is_file() else place.rglob("*.py")))
    return [
        result
        for path in files
        for result in _functions(
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
    """Copy of the package, and the derivations of the stages of a build, by name."""

    def __init__(self, package: Path, derivations: Mapping[str, Mapping[str, Any]]) -> None:
        self.package = package
        self._derivations = {name: d for name, d in derivations.items() if "code" in d}
        self._before = self._now()

    def _now(self) -> dict[str, Any]:
        return {name: rehash_used(derivation) for name, derivation in self._derivations.items()}

    def ran(self, function: Function) -> set[str]:
        """Return the stages whose runs executed a function."""
        return {name for name, d in self._derivations.items() if function.key in d["code"]}

    def executed(self, file: str) -> set[str]:
        """Return the stages whose runs executed a function of a file."""
        start = f"{_module(file)}:"
        return {n for n, d in self._derivations.items() if any(unit.startswith(start) for unit in d["code"])}

    def counts(self, file: str) -> set[str]:
        """Return the stages whose keys contain a module."""
        return {name for name, d in self._derivations.items() if _module(file) in d["code"]}

    def stale(self) -> set[str]:
        """Return the stages that used something that changed."""
        return {name for name, used in self._now().items() if used != self._before[name]}

    @contextmanager
    def edit(self, file: str, old: str, new: str) -> Iterator[None]:
        """Replace the first `old` in a file by `new` while entered."""
        path = self.package / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(text, encoding="utf-8")

    @contextmanager
    def rewrite(self, file: str, text: str) -> Iterator[None]:
        """Replace the text of a file while entered."""
        path = self.package / file
        before = path.read_text(encoding="utf-8")
        path.write_text(text, encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(before, encoding="utf-8")

    @contextmanager
    def edit_function(self, function: Function) -> Iterator[None]:
        """Add a statement without effect to a function while entered."""
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
