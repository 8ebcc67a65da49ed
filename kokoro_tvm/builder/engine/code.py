"""Digests of this package's code: one per function, and one per module without the bodies of functions.

The digest of a module covers what its import executes: decorators, argument defaults, class bodies,
constants and registrations. Comments, docstrings, layout and the texts of errors do not count. Another
version of Python may give other digests; keys name that version anyway.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from kokoro_tvm.builder.engine.memory import process_memory, stamps
from kokoro_tvm.common.errors import BuildError

_PACKAGE = Path(__file__).parents[2]
# Topic in `Memory`. Change the number whenever outlines change.
_TOPIC = f"code 5 {sys.version_info.major}.{sys.version_info.minor}"
_GONE = "gone"
# Modules that decide about no output: errors, and the engine, whose work is checked by digests.
_IGNORED = tuple(f"{_PACKAGE.name}.{name}." for name in ("common.errors", "builder.engine", "common.loading"))


class _Unit(NamedTuple):
    """Function or, under the name "", module.

    Attributes:
        digest: Digest of its code.
        uses: Names it refers to: "module:name.attribute", or ":name" in its own module.
    """

    digest: str
    uses: list[str]


class _Outline(NamedTuple):
    """Module: its units by name, its classes, and the target of each imported name."""

    units: dict[str, _Unit]
    classes: list[str]
    imports: dict[str, str]


def hash_executed_code(names: Iterable[str], imported: Collection[str] = ()) -> dict[str, str]:
    """Return digests of functions ("module:Class.method"), modules ("module"), and modules they refer to.

    The names of the result give the same result again.

    Args:
        names: What was executed or loaded.
        imported: Functions that imports executed; they count if their module does.

    Raises:
        BuildError: A module cannot be parsed.
    """
    return _walk(names, imported, every=False)


def hash_all_code(names: Iterable[str]) -> dict[str, str]:
    """Return digests of functions or modules and of all functions they may call, as far as names tell.

    Raises:
        BuildError: A function does not exist.
    """
    names = list(names)
    code = _walk(names, (), every=True)
    if missing := [name for name in names if code[name] == _GONE]:
        raise BuildError(f"there is no function {missing[0]}")
    return code


def folder_of_package() -> Path:
    """Return the folder that paths of files in traces are relative to."""
    return _PACKAGE


def source_stamps() -> dict[Path, tuple[int, ...]]:
    """Return the stamps (`memory.stamps`) of every source file of this package."""
    return {path: stamps(path) for path in _PACKAGE.rglob("*.py")}


def module_of(path: str) -> str | None:
    """Return the module of a source file of this package; None for any other file."""
    folder = f"{_PACKAGE}{os.sep}"
    if not (path.startswith(folder) and path.endswith(".py")):
        return None
    parts = [_PACKAGE.name, *path[len(folder) : -3].replace(os.sep, ".").split(".")]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def path_of(module: str) -> Path | None:
    """Return the file of a module of this package; None if there is none."""
    head, _, rest = module.partition(".")
    if head != _PACKAGE.name:
        return None
    # Asked thousands of times, and twice as fast as with Path.
    base = f"{_PACKAGE}{os.sep if rest else ''}{rest.replace('.', os.sep)}"
    files = (f"{base}.py", f"{base}{os.sep}__init__.py")
    return next((Path(file) for file in files if os.path.isfile(file)), None)  # noqa: PTH113


def is_ignored(module: str) -> bool:
    """Return whether the code of a module counts in no key."""
    return f"{module}.".startswith(_IGNORED)


def _walk(names: Iterable[str], imported: Collection[str], every: bool) -> dict[str, str]:
    """Follow uses from `names` on, and return the digests of code by name.

    The functions that imports executed count with their module. With `every`, all functions that a
    function may call are followed; otherwise those that ran are named already, and only what they refer
    to is.
    """
    outlines: dict[str, _Outline | None] = {}
    at_import: dict[str, list[str]] = {}
    for name in imported:
        at_import.setdefault(name.partition(":")[0], []).append(name)
    code: dict[str, str] = {}
    followed: set[str] = set()
    pending = list(names)

    def outline(module: str) -> _Outline | None:
        """Return the outline of a module; None if it is not of this package."""
        if module not in outlines:
            path = path_of(module)
            outlines[module] = (
                _parse_outline(process_memory().recall(path, _build_outline, _TOPIC)) if path else None
            )
        return outlines[module]

    def follow(use: str) -> None:
        """Add what a use, "module:name", refers to: to `code` an imported name, to `pending` code to read."""
        module, _, name = use.partition(":")
        source = outline(module)
        if use in followed or source is None or is_ignored(module):
            return
        followed.add(use)
        head, _, rest = name.partition(".")
        if head in source.imports:
            code[f"{module}:{head}"] = target = source.imports[head]
            follow(_attribute_target(target, rest))
        elif head and head not in source.units and outline(f"{module}.{head}") is not None:
            follow(f"{module}.{head}:{rest}")
        elif every and head in source.units:
            pending.append(f"{module}:{head}")
        elif every and head in source.classes:
            pending.extend(f"{module}:{unit}" for unit in source.units if unit.startswith(f"{head}."))
        pending.append(module)

    while pending:
        name = pending.pop()
        module, _, function = name.partition(":")
        if name in code or is_ignored(module):
            continue
        source = outline(module)
        unit = source.units.get(function) if source else None
        if unit is None:  # a class, which its module's digest covers, or an import of an earlier result
            if source is not None and function in source.imports:
                follow(name)
            elif source is None or function not in source.classes:
                code[name] = _GONE
            pending += [module] if function else []
            continue
        code[name] = unit.digest
        for use in unit.uses:
            follow(f"{module}{use}" if use.startswith(":") else use)
        package = module.rpartition(".")[0]
        if function:
            pending.append(module)
        else:
            pending += [*at_import.get(module, ()), *([package] if "." in package else [])]
    return dict(sorted(code.items()))


def _attribute_target(target: str, rest: str) -> str:
    """Return the target of an attribute of an imported name."""
    return target if not rest else f"{target}{rest}" if target.endswith(":") else f"{target}.{rest}"


@lru_cache(maxsize=2048)
def _parse_outline(text: str) -> _Outline:
    """Parse what `_build_outline` returned."""
    units, classes, imports = json.loads(text)
    return _Outline({name: _Unit(*unit) for name, unit in units.items()}, classes, imports)


def _build_outline(path: Path) -> str:
    """Return the outline of a source file as JSON. Raises BuildError if it cannot be parsed."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    except SyntaxError as error:
        raise BuildError(f"{path}:{error.lineno}: not Python: {error.msg}") from error
    if any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(tree)):
        raise BuildError(f"{path}: a relative import; digests follow absolute ones, write it out")
    _drop_texts(tree)
    blank = _Blank()
    blank.visit(tree)
    own = {*blank.bodies, *blank.classes}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    used |= {
        n.id for body in blank.bodies.values() for b in body for n in ast.walk(b) if isinstance(n, ast.Name)
    }
    units = {name: _build_unit(body, blank.imports, own) for name, body in blank.bodies.items()}
    # An import that nothing uses or exports is there for its effect.
    effects = [to for name, to in blank.imports.items() if name not in used and name not in blank.exported]
    units[""] = _build_unit([tree, *map(ast.Constant, effects)], blank.imports, own, effects)
    return json.dumps([units, blank.classes, blank.imports])


class _Blank(ast.NodeTransformer):
    """Removes imports and the bodies of functions from a module, and keeps them."""

    def __init__(self) -> None:
        self.bodies: dict[str, list[ast.stmt]] = {}
        self.classes: list[str] = []
        self.imports: dict[str, str] = {}
        self.exported: set[str] = set()
        self._prefix = ""

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        """Keep and remove the body of a function."""
        self.bodies.setdefault(f"{self._prefix}{node.name}", []).extend(node.body)
        node.body = []
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Note a class, and visit its methods."""
        self.classes.append(f"{self._prefix}{node.name}")
        before, self._prefix = self._prefix, f"{self._prefix}{node.name}."
        self.generic_visit(node)
        self._prefix = before
        return node

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Keep and remove an import."""
        self.imports |= _import_targets(node)

    visit_ImportFrom = visit_Import  # noqa: N815

    def visit_If(self, node: ast.If) -> ast.AST | None:
        """Remove a condition that is false in every import: TYPE_CHECKING, and a script's main."""
        # `if TYPE_CHECKING:` and `if __name__ == "__main__":` are executed by no import.
        names = {name.id for name in ast.walk(node.test) if isinstance(name, ast.Name)}
        return None if names & {"TYPE_CHECKING", "__name__"} else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        """Keep and remove the names of `__all__`."""
        if [target.id for target in node.targets if isinstance(target, ast.Name)] != ["__all__"]:
            return node
        self.exported = {str(n.value) for n in ast.walk(node.value) if isinstance(n, ast.Constant)}
        return None


def _import_targets(node: ast.Import | ast.ImportFrom) -> dict[str, str]:
    """Return the names that an import binds, each with its target: "module:name" or "module:"."""
    if isinstance(node, ast.ImportFrom):
        return {alias.asname or alias.name: f"{node.module}:{alias.name}" for alias in node.names}
    return {alias.asname or alias.name.partition(".")[0]: f"{alias.name}:" for alias in node.names}


def _build_unit(
    nodes: Sequence[ast.AST], imports: dict[str, str], own: set[str], uses: Iterable[str] = ()
) -> _Unit:
    """Return digest and uses of a unit.

    Args:
        nodes: Its statements.
        imports: Target of each name that the module imports.
        own: Names that the module defines.
        uses: What it refers to besides.
    """
    local: dict[str, str] = {}
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            local |= _import_targets(node)
    targets = {name: f":{name}" for name in own} | imports | local
    references = dict.fromkeys([*uses, *local.values()])
    for node in (inner for outer in nodes for inner in _walk_evaluated(outer)):
        if isinstance(node, ast.Name) and node.id in targets:
            references[targets[node.id]] = None
        elif (
            isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in targets
        ):
            references[_attribute_target(targets[node.value.id], node.attr)] = None
    inside = [use for use in references if use.startswith((":", f"{_PACKAGE.name}:", f"{_PACKAGE.name}."))]
    total = hashlib.sha256(json.dumps(sorted(references)).encode())
    for node in nodes:
        total.update(ast.dump(node).encode())
    return _Unit(total.hexdigest()[:32], inside)


def _walk_evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """Yield every node except annotations of functions, which are never evaluated."""
    yield node
    for name, value in ast.iter_fields(node):
        if name == "returns" or (name == "annotation" and isinstance(node, ast.arg)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk_evaluated(child)


def _drop_texts(tree: ast.AST) -> None:
    """Remove docstrings, the texts that errors are raised with, and descriptions of fields and options."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.keywords = [word for word in node.keywords if word.arg != "description"]
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            node.exc.args = [a for a in node.exc.args if not isinstance(a, ast.JoinedStr | ast.Constant)]
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            # Not only docstrings: texts stand below attributes and constants, too.
            node.body = [n for n in node.body if not _is_text(n)]


def _is_text(node: ast.stmt) -> bool:
    """Return whether a statement is a string alone, such as a docstring."""
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)
