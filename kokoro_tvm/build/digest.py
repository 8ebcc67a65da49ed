"""Digests: one number for everything that goes into a stage, so that only what changed is built again."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from kokoro_tvm.errors import BuildError

__all__ = ["digest", "file_sha256", "function_digest", "source_digests", "versions"]

_PACKAGE = Path(__file__).parents[1]


def digest(ingredients: Mapping[str, Any]) -> str:
    """sha256 over canonical JSON."""
    text = json.dumps(ingredients, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """sha256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def versions(*packages: str) -> dict[str, str]:
    """Installed versions of these distributions, and Python's."""
    return {"python": platform.python_version()} | {p: importlib.metadata.version(p) for p in packages}


def source_digests(modules: Iterable[str], apart: Iterable[str] = ()) -> dict[str, str]:
    """Digest of the code of these modules and of all that they import from this package, by module name.

    The code counts, not the text: comments, docstrings and layout do not. `apart`: modules that stay out with
    what only they import. Of a package among them those modules are in that are named: by the caller, in an
    import, or as an attribute (`from kokoro_tvm import ops` and `ops.stft`).
    """
    excluded = set(apart)
    found: dict[str, str] = {}
    queue = list(modules)
    while queue:
        module = queue.pop()
        if module in found or module in excluded:
            continue
        path = _path(module)
        if path is None:
            continue
        found[module], imported = _read(module, str(path), path.stat().st_mtime_ns)
        queue.extend(imported)
    return dict(sorted(found.items()))


def _path(module: str) -> Path | None:
    """The file of a module of this package; None for a name inside a module, or a foreign module."""
    head, *rest = module.split(".")
    if head != _PACKAGE.name:
        return None
    base = _PACKAGE.joinpath(*rest)
    return next((p for p in (base.with_suffix(".py"), base / "__init__.py") if rest and p.is_file()), None)


@cache
def _read(module: str, path: str, _mtime: int) -> tuple[str, tuple[str, ...]]:
    tree = _parse(Path(path))
    imported: dict[str, None] = {}
    called: dict[str, str] = {}  # what a name of this file may stand for
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise BuildError(f"{path}: a relative import; digests follow absolute ones, write it out")
            imported[str(node.module)] = None
            called |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    imported |= dict.fromkeys(called.values())
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in called:
            imported[f"{called[node.value.id]}.{node.attr}"] = None
    _drop_docstrings(tree)
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), tuple(imported)


def _drop_docstrings(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            value = first.value if isinstance(first, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                node.body = node.body[1:]


def function_digest(module: str, name: str) -> str:
    """Digest of the code of one function of a module of this package. Raises BuildError where it is not."""
    path = _path(module)
    nodes = _parse(path).body if path else []
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef) and n.name == name]
    if not functions:
        raise BuildError(f"{module} has no function {name}")
    _drop_docstrings(functions[-1])
    return hashlib.sha256(ast.dump(functions[-1]).encode()).hexdigest()


def _parse(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"), str(path))
    except SyntaxError as error:
        raise BuildError(f"{path}:{error.lineno}: not Python: {error.msg}") from error
