"""Digests of this package's code: what stages run, followed through its imports.

The code counts, not the text: comments, docstrings, layout and the wording of errors do not.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import os
import symtable
from collections.abc import Iterable, Iterator
from pathlib import Path

from kokoro_tvm.engine.memory import learned
from kokoro_tvm.errors import BuildError

__all__ = ["function_code", "source_digests"]

_PACKAGE = Path(__file__).parents[1]
_ABOUT = "code 2"  # of what is remembered of a file; another way to digest code is another number


def source_digests(modules: Iterable[str], apart: Iterable[str] = ()) -> dict[str, str]:
    """Digest of the code of these modules and of all that they import from this package, by module name.

    `apart`: modules that stay out with what only they import. Of a package among them those modules are in
    that are named: by the caller, in an import, or as an attribute (`from kokoro_tvm import ops` and
    `ops.stft`). Raises BuildError for what cannot be parsed or followed.
    """
    seen = set(apart)
    found: dict[str, str] = {}
    queue = list(modules)
    while queue:
        module = queue.pop()
        if module in seen:
            continue
        seen.add(module)
        path = _path(module)
        if path is not None:
            found[module], *imported = json.loads(learned().recall(path, _module_code, _ABOUT))
            queue.extend(imported)
    return dict(sorted(found.items()))


def function_code(module: str, name: str) -> tuple[str, list[str]]:
    """Digest of the code of one function of a module, with whatever else of that module it uses, and the
    names it imports from this package. Raises BuildError where there is no such function."""
    path = _path(module) or _elsewhere(module)
    if path is None:
        raise BuildError(f"there is no module {module}")
    found, *imported = json.loads(
        learned().recall(path, lambda p: _function_code(p, name), f"{_ABOUT} {name}")
    )
    if not found:
        raise BuildError(f"{module} has no function {name}")
    return found, imported


def _path(module: str) -> Path | None:
    """The file of a module of this package; None for a name inside a module, or a foreign module."""
    head, _, rest = module.partition(".")
    if head != _PACKAGE.name or not rest:
        return None
    # Asked thousands of times, and twice as fast as with Path.
    base = f"{_PACKAGE}{os.sep}{rest.replace('.', os.sep)}"
    files = (f"{base}.py", f"{base}{os.sep}__init__.py")
    return next((Path(file) for file in files if os.path.isfile(file)), None)  # noqa: PTH113


def _elsewhere(module: str) -> Path | None:
    """The file of a module of somebody else's that can be imported."""
    if f"{module}.".startswith(f"{_PACKAGE.name}."):
        return None
    found = importlib.util.find_spec(module)
    return Path(found.origin) if found and found.has_location and found.origin else None


def _module_code(path: Path) -> str:
    """JSON: the digest, and the names it imports."""
    tree = _parse(path)
    tree.body = [node for node in tree.body if not _for_types_alone(node)]
    imported = _imports(tree, path)
    return json.dumps([_digest([tree]), *imported])


def _for_types_alone(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _function_code(path: Path, name: str) -> str:
    """The same of one function; an empty digest where there is none."""
    tree, text = _parse(path), path.read_text(encoding="utf-8")
    defined = {given: node for node in tree.body for given in _names(node)}
    scopes = {scope.get_name(): scope for scope in symtable.symtable(text, str(path), "exec").get_children()}
    used: dict[int, ast.stmt] = {}
    queue = [name] if isinstance(defined.get(name), ast.FunctionDef) else []
    while queue:
        word = queue.pop()
        node = defined.get(word)
        if node is not None and node.lineno not in used:
            used[node.lineno] = node
            scope = scopes.get(word)
            queue += _globals(scope) if scope else [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
    if not used:
        return json.dumps([""])
    nodes = [used[line] for line in sorted(used)]
    imported = _imports(ast.Module(nodes, []), path)
    return json.dumps([_digest(nodes), *imported])


def _globals(scope: symtable.SymbolTable) -> list[str]:
    """Names of its module that a function or class uses, anywhere in it."""
    found = [symbol.get_name() for symbol in scope.get_symbols() if symbol.is_global()]
    return [*found, *(name for inner in scope.get_children() for name in _globals(inner))]


def _names(node: ast.stmt) -> Iterator[str]:
    """What a statement of a module gives a name to."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name))
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)


def _imports(tree: ast.AST, path: Path) -> list[str]:
    """Names of modules, and of what is in them, that are imported anywhere in it."""
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
    ours = f"{_PACKAGE.name}."
    return [name for name in imported if f"{name}.".startswith(ours)]


def _digest(nodes: Iterable[ast.AST]) -> str:
    total = hashlib.sha256()
    for node in nodes:
        _drop_words(node)
        total.update(ast.dump(node).encode())
    return total.hexdigest()


def _drop_words(tree: ast.AST) -> None:
    """Docstrings, and the texts that errors are raised with."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            node.exc.args = [a for a in node.exc.args if not isinstance(a, ast.JoinedStr | ast.Constant)]
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            value = first.value if isinstance(first, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                node.body = node.body[1:]


def _parse(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"), str(path))
    except SyntaxError as error:
        raise BuildError(f"{path}:{error.lineno}: not Python: {error.msg}") from error
