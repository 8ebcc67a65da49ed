"""The names that a piece of Python code uses of its module, and those it gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

__all__ = ["bound_names", "target_of", "used_names"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Scope = Mapping[str, str | None]  # a name of a function's own -> what it imports under it, if it does


def target_of(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """What an import leads to: "module:name" or "module:"."""
    if isinstance(node, ast.ImportFrom):
        return f"{node.module}:{alias.name}"
    return f"{alias.name if alias.asname else alias.name.partition('.')[0]}:"


def bound_names(node: ast.AST) -> list[str]:
    """The names that a statement gives in its module, class or function; none from inside a function."""
    return list(dict.fromkeys(_bound(node)))


def used_names(node: ast.AST) -> Iterator[str]:
    """The names of its module that a statement or function uses, each with the attributes that are read of
    it: "name.attribute". Of what it imports itself, "module:name.attribute".

    Annotations use nothing.
    """
    yield from dict.fromkeys(_used(node, {}))


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        # `:=` inside a comprehension is bound outside it.
        yield from (n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
        yield node.id
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest
    for child in ast.iter_child_nodes(node):
        yield from _bound(child)


def _used(node: ast.AST, scope: _Scope) -> Iterator[str]:
    if isinstance(node, ast.Attribute | ast.Name):
        yield from _chain(node, scope)
    elif isinstance(node, _Function):
        yield from _function(node, scope)
    elif isinstance(node, ast.AnnAssign):
        for part in (node.target, node.value):
            if part is not None:
                yield from _used(part, scope)
    elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        targets = {name: None for each in node.generators for name in bound_names(each.target)}
        for child in ast.iter_child_nodes(node):
            yield from _used(child, {**scope, **targets})
    else:
        for child in ast.iter_child_nodes(node):
            yield from _used(child, scope)


def _chain(node: ast.expr, scope: _Scope) -> Iterator[str]:
    """`a.b.c`, or what `(...).b.c` begins with."""
    attributes: list[str] = []
    begin = node
    while isinstance(begin, ast.Attribute):
        attributes.insert(0, begin.attr)
        begin = begin.value
    if not isinstance(begin, ast.Name):
        yield from _used(begin, scope)
    elif begin.id not in scope:
        yield ".".join([begin.id, *attributes])
    elif (target := scope[begin.id]) is not None:
        yield ".".join([target, *attributes]).replace(":.", ":")


def _function(node: _Function, scope: _Scope) -> Iterator[str]:
    arguments = node.args
    for outside in (*getattr(node, "decorator_list", ()), *arguments.defaults, *arguments.kw_defaults):
        if outside is not None:
            yield from _used(outside, scope)
    body = node.body if isinstance(node.body, list) else [node.body]
    given = [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    ]
    own: dict[str, str | None] = {argument.arg: None for argument in given if argument is not None}
    own |= {name: None for statement in body for name in _bound(statement)}
    for inner in _of_this_function(body):
        if isinstance(inner, ast.Import | ast.ImportFrom):
            own |= {(a.asname or a.name.partition(".")[0]): target_of(inner, a) for a in inner.names}
        elif isinstance(inner, ast.Global):
            own = {name: target for name, target in own.items() if name not in inner.names}
    for statement in body:
        yield from _used(statement, {**scope, **own})


def _of_this_function(nodes: list[ast.AST] | list[ast.stmt] | list[ast.expr]) -> Iterator[ast.AST]:
    """Every node that is in no function or class inside it."""
    for node in nodes:
        yield node
        if not isinstance(node, _Function | ast.ClassDef):
            yield from _of_this_function(list(ast.iter_child_nodes(node)))
