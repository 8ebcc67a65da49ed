"""Digests of this package's code, a function, class or value of a module at a time.

The code counts, not the text: comments, docstrings, layout, places and the wording of errors do not, nor does
the version of Python that reads it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from kokoro_tvm.engine.memory import learned, stamps
from kokoro_tvm.engine.names import bound_names, target_of, used_names
from kokoro_tvm.errors import BuildError

__all__ = [
    "all_code",
    "executed_code",
    "folder_of_package",
    "functions_of",
    "has_no_say",
    "module_of",
    "path_of",
    "source_stamps",
]

_PACKAGE = Path(__file__).parents[1]
_ABOUT = "code 3"  # of what is remembered of a file; another way to digest code is another number
_SKIPPED = {"ctx", "kind", "type_comment", "type_ignores"}

_Unit = tuple[str, str, list[str]]  # "function", "class", "value" or "import"; digest or target; names used


def executed_code(functions: Collection[str], imported: Collection[str] = ()) -> dict[str, str]:
    """Digests of functions that ran, "module:Class.method", and of what of the modules they refer to.

    The result has `module:f()` for a function, and `module:name` for what it names: the value of a module,
    the bases, attributes and names of methods of a class, where an import leads, and that a function is there
    which did not run. "module:*" among the functions are all values and classes of a module.

    imported: functions that ran while modules were imported. They count where something that counts refers to
    them. Raises BuildError for what cannot be parsed.
    """
    return _Walk(set(functions), set(imported)).found


def all_code(functions: Iterable[str]) -> dict[str, str]:
    """Digests of functions and of everything that they may call, as far as names tell: more than runs, for
    what has to be known before it runs. Raises BuildError where there is no such function."""
    walk = _Walk(set(functions), None)
    if gone := [n.removesuffix("()") for n, digest in walk.found.items() if digest == _GONE]:
        raise BuildError(f"there is no function {gone[0]}")
    return walk.found


def functions_of(code: Mapping[str, str]) -> list[str]:
    """The functions that `executed_code` was given, and those `imported` that counted."""
    return [n.removesuffix("()") for n in code if n.endswith(("()", ":*"))]


def folder_of_package() -> Path:
    """What paths of files in traces start from."""
    return _PACKAGE


def source_stamps() -> dict[Path, tuple[int, ...]]:
    """Every source file of this package, with what changes whenever it does."""
    return {path: stamps(path) for path in _PACKAGE.rglob("*.py")}


def module_of(path: str) -> str | None:
    """The module of a source file of this package; None for any other file."""
    folder = f"{_PACKAGE}{os.sep}"
    if not (path.startswith(folder) and path.endswith(".py")):
        return None
    parts = [_PACKAGE.name, *path[len(folder) : -3].replace(os.sep, ".").split(".")]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def path_of(module: str) -> Path | None:
    """The file of a module of this package; None where there is none."""
    head, _, rest = module.partition(".")
    if head != _PACKAGE.name:
        return None
    # Asked thousands of times, and twice as fast as with Path.
    base = f"{_PACKAGE}{os.sep if rest else ''}{rest.replace('.', os.sep)}"
    files = (f"{base}.py", f"{base}{os.sep}__init__.py")
    return next((Path(file) for file in files if os.path.isfile(file)), None)  # noqa: PTH113


# What decides about no output: errors, and what runs stages, for what that hands over is checked by digest.
_NO_SAY = tuple(f"{_PACKAGE.name}.{name}" for name in ("errors", "engine", "loading"))
_GONE, _THERE = "gone", "not run"


def has_no_say(module: str) -> bool:
    """Whether nothing of a module decides about what a stage writes."""
    return f"{module}.".startswith(tuple(f"{name}." for name in _NO_SAY))


class _Walk:
    """From functions to all they refer to. imported: see `executed_code`; None: every function counts."""

    def __init__(self, functions: set[str], imported: set[str] | None) -> None:
        self._found: dict[str, str] = {}
        self._imported = imported
        self._outlines: dict[str, Mapping[str, _Unit]] = {}
        self._followed: set[str] = set()
        self._ahead: list[str] = []  # "module:name.attribute", referred to
        for function in functions:
            self._run(*function.split(":"))
        while self._ahead:
            self._refer(*self._ahead.pop().split(":"))
        self.found = {name: digest for name, digest in sorted(self._found.items()) if not self._ran(name)}

    def _ran(self, name: str) -> bool:
        """Whether it is a function that was referred to before it turned out to have run."""
        return f"{name}()" in self._found

    def _run(self, module: str, name: str) -> None:
        key = f"{module}:{name}()" if name != "*" else f"{module}:*"
        if key in self._found:
            return
        if name == "*":
            self._found[key] = "loaded"
            self._all_of(module)
            return
        units = self._units(module)
        kind, digest, uses = units.get(name, ("", _GONE, []))
        if kind == "class":
            return  # its body, when its module was imported: it counts where something refers to it
        self._found[key] = digest if kind == "function" else _GONE
        self._use(module, uses)
        # Its class; where it is defined under a condition, that.
        self._use(module, [name.rpartition(".")[0] if kind else name.partition(".")[0]])
        if "" in units:
            self._found[f"{module}:"] = units[""][1]
            self._use(module, units[""][2])

    def _use(self, module: str, uses: Iterable[str]) -> None:
        self._ahead += [use if ":" in use else f"{module}:{use}" for use in uses if use]

    def _all_of(self, module: str) -> None:
        self._use(module, [name for name, (kind, _, _) in self._units(module).items() if kind != "function"])

    def _refer(self, module: str, use: str) -> None:
        if f"{module}:{use}" in self._followed:
            return
        self._followed.add(f"{module}:{use}")
        if has_no_say(module):
            return
        units = self._units(module)
        # A class inside another has a name with a dot, as have methods.
        name = use if use in units else use.partition(".")[0]
        rest = use[len(name) + 1 :]
        key = f"{module}:{name}"
        if not name or name not in units:
            below = f"{module}.{name}" if name else module
            if path_of(below) is None:
                return  # of Python's own
            if rest:
                self._use(below, [rest])
            else:  # the module itself, whatever is read of it
                self._all_of(below)
            return
        kind, digest, uses = units[name]
        if kind == "function":
            if self._imported is None or key in self._imported:
                self._run(module, name)
            else:
                self._found[key] = _THERE
            return
        self._found[key] = digest
        if kind == "import":
            if digest.startswith((f"{_PACKAGE.name}:", f"{_PACKAGE.name}.")):
                self._ahead.append(".".join(filter(None, [digest, rest])).replace(":.", ":"))
            return
        self._use(module, uses)
        if kind == "class":
            for method in [n for n in units if n.startswith(f"{name}.") and units[n][0] == "function"]:
                if self._imported is None or f"{module}:{method}" in self._imported:
                    self._run(module, method)

    def _units(self, module: str) -> Mapping[str, _Unit]:
        if module not in self._outlines:
            path = path_of(module)
            if path is None:
                self._outlines[module] = {}
            else:
                self._outlines[module] = _read(learned().recall(path, _outline, _ABOUT))
        return self._outlines[module]


@lru_cache(maxsize=2048)
def _read(outline: str) -> Mapping[str, _Unit]:
    return {name: (kind, digest, uses) for name, (kind, digest, uses) in json.loads(outline).items()}


def _outline(path: Path) -> str:
    """JSON: what stands in a module, by name; under "" what has none, and an effect when it is imported."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    except SyntaxError as error:
        raise BuildError(f"{path}:{error.lineno}: not Python: {error.msg}") from error
    found: dict[str, _Unit] = {}
    values: dict[str, list[ast.stmt]] = {}
    _drop_words(tree)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found |= _definitions(node, "")
        elif isinstance(node, ast.Import | ast.ImportFrom):
            if isinstance(node, ast.ImportFrom) and node.level:
                raise BuildError(f"{path}: a relative import; digests follow absolute ones, write it out")
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                found[name] = ("import", target_of(node, alias), [])
        elif not _for_no_import(node):
            for name in bound_names(node) or [""]:
                values.setdefault(name, []).append(node)
    for name, nodes in values.items():
        uses = list(dict.fromkeys(use for node in nodes for use in used_names(node)))
        found[name] = ("value", _digest(nodes), uses)
    return json.dumps(found)


def _for_no_import(node: ast.stmt) -> bool:
    """`if TYPE_CHECKING:` and `if __name__ == "__main__":`"""
    if not isinstance(node, ast.If):
        return False
    names = {each.id for each in ast.walk(node.test) if isinstance(each, ast.Name)}
    return bool(names & {"TYPE_CHECKING", "__name__"})


def _definitions(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, prefix: str
) -> dict[str, _Unit]:
    """A function, or a class without its methods, and those."""
    name = f"{prefix}{node.name}"
    if not isinstance(node, ast.ClassDef):
        return {name: ("function", _digest([node]), list(used_names(node)))}
    inner = [n for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    rest = [n for n in node.body if n not in inner]
    bare = ast.ClassDef(node.name, node.bases, node.keywords, rest, node.decorator_list)
    digest = _digest([bare, *(ast.Name(each.name) for each in inner)])
    # Those of a class's attributes mean something to dataclasses and to pydantic.
    annotations = [n.annotation for n in rest if isinstance(n, ast.AnnAssign)]
    uses = list(dict.fromkeys(use for each in (bare, *annotations) for use in used_names(each)))
    found: dict[str, _Unit] = {name: ("class", digest, uses)}
    for each in inner:
        found |= _definitions(each, f"{name}.")
    return found


def _digest(nodes: Iterable[ast.AST]) -> str:
    total = hashlib.sha256()
    for node in nodes:
        total.update("".join(_canonical(node)).encode())
    return total.hexdigest()[:32]


def _canonical(value: object) -> Iterator[str]:
    """What `ast.dump` prints, without what depends on the version of Python: fields that hold nothing."""
    if isinstance(value, ast.AST):
        yield f"{type(value).__name__}("
        for name in value._fields:
            held = getattr(value, name, None)
            if isinstance(value, ast.JoinedStr) and name == "values":  # 3.12 puts empty ones into formats
                held = [each for each in value.values if getattr(each, "value", None) != ""]
            if held is not None and held != [] and name not in _SKIPPED:
                yield f"{name}="
                yield from _canonical(held)
                yield ","
        yield ")"
    elif isinstance(value, list):
        for each in value:
            yield from _canonical(each)
            yield ";"
    else:
        yield repr(value)


def _drop_words(tree: ast.AST) -> None:
    """Docstrings, the texts that errors are raised with, and descriptions of fields and options."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.keywords = [word for word in node.keywords if word.arg != "description"]
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            node.exc.args = [a for a in node.exc.args if not isinstance(a, ast.JoinedStr | ast.Constant)]
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            # Beside an attribute of a class, too, and below a value of a module.
            node.body = [n for n in node.body if not _is_text(n)]


def _is_text(node: ast.stmt) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)
