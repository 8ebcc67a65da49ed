"""Every regular expression of the runtime, the server and the page, from their sources.

None is passed over: what cannot be read from the source alone is an error, unless `ELSEWHERE` has it.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import kokoro_tvm
from kokoro_tvm.web import WEB

__all__ = ["ELSEWHERE", "Expression", "javascript_expressions", "python_expressions"]

_ROOT = Path(kokoro_tvm.__file__).parent
_ROOMS = ("runtime", "documents", "serve")
_FUNCTIONS = frozenset(
    {"compile", "findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn", "template"}
)
_ANCHORED = {"search": "{}", "match": r"\A(?:{})", "fullmatch": r"\A(?:{})\Z"}
_OTHERS = frozenset({"Match", "Pattern", "error", "escape", "purge"})

_SETS = {
    "L": "a-zA-Zªµß-öøÀ-ÖØ-ɏα-ωぁ-ゟ一-鿿",
    "Lu": "A-ZÀ-Ö",
    "Uppercase": "A-ZÀ-Ö",
    "Ll": "a-zß-ö",
    "Lowercase": "a-zß-ö",
    "M": "\u0300-\u036f",
    "Mn": "\u0300-\u036f",
    "Mc": "\u0903\u093e-\u0940",
    "N": "0-9²³¹¼-¾٠-٩Ⅰ-Ⅿ",
    "Nd": "0-9٠-٩",
    "Nl": "Ⅰ-Ⅿ",
    "No": "²³¹¼-¾",
    "S": "$+<=>^`|~¢-©¬®-±´¸×÷",
    "So": "¦©®°",
    "Sc": "$¢-¥",
    "Sm": "+<=>|~¬±×÷",
    "Sk": "^`¨¯´¸",
    "C": "\0-\x1f\x7f-\x9f\xad",
    "Cs": "\ud800-\udfff",
    "Co": "\ue000-\uf8ff",
    "Z": " \xa0\u2000-\u200a\u2028\u2029",
    "w": "a-zA-Z0-9_",
    "d": "0-9",
}  # what JavaScript means, as far as it makes a difference which of a pattern's parts take a character
_TOKEN = re.compile(
    r"\\[pP]\{(?P<set>\w+)\}|\\(?P<ascii>[wWdD])|\\u\{(?P<code>[0-9a-fA-F]+)\}|\\k<(?P<same>\w+)>|(?P<any>\[\^\])"
    r"|(?P<other>\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\.|\(\?<(?![=!])|.)",
    re.DOTALL,
)


ELSEWHERE = frozenset(
    {
        *(
            ("runtime/text/frontend/tokenizer.py", f"rules.{name}")
            for name in ("prefix", "suffix", "infix", "url")
        ),
        ("runtime/text/frontend/normalization/language.py", "pattern"),
    }
)
"""What is read by other tests: a tokenizer's rules are data, and are tried on the longest word there is; a
language's written forms are data too."""


@dataclass(frozen=True)
class Expression:
    """A pattern in Python's syntax, its flags, and the place it stands at."""

    place: str
    pattern: str
    flags: int = 0


def python_expressions() -> Iterator[Expression]:
    """Those of the Python sources. Raises ValueError for one that cannot be read."""
    for room in _ROOMS:
        for path in sorted((_ROOT / room).rglob("*.py")):
            yield from _of_module(path)


def javascript_expressions(folder: Path) -> list[Expression]:
    """Those of the page's modules, of which a copy is run in a folder. Raises ValueError as above."""
    copy = folder / WEB.name
    shutil.copytree(WEB, copy)
    command = ["node", "--expose-internals", str(Path(__file__).with_suffix(".mjs")), str(copy)]
    answer = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    hidden = [
        error
        for error in answer["errors"]
        if (error["place"].rpartition(":")[0], error.get("given")) not in ELSEWHERE
    ]
    if hidden:
        raise ValueError(f"{hidden} cannot be read from the source.")
    return [Expression(each["place"], in_python(each), _flags(each["flags"])) for each in answer["found"]]


def _flags(letters: str) -> int:
    known = {"i": re.IGNORECASE, "s": re.DOTALL, "m": re.MULTILINE, "g": 0, "u": 0, "d": 0, "y": 0}
    return sum(int(known[letter]) for letter in letters)


def in_python(found: dict[str, str]) -> str:
    """A pattern of JavaScript in Python's syntax."""
    made, inside = "", False
    for token in _TOKEN.finditer(found["source"]):
        kind, text = token.lastgroup, token[0]
        if kind in ("set", "ascii"):
            name = token["set"] or text[1].lower()
            negated = text[1] in "PWD"
            if inside and negated:
                raise ValueError(f"{found['place']}: {text} in a set is not translated.")
            made += _SETS[name] if inside else f"[{'^' * negated}{_SETS[name]}]"
        elif kind == "code":
            made += re.escape(chr(int(token["code"], 16)))
        elif kind == "same":
            made += f"(?P={token['same']})"
        elif kind == "any":
            made += r"[\s\S]"
        elif text == "[" and not inside:
            made, inside = made + text, True
        elif text == "]":
            made, inside = made + text, False
        elif text == "(?<":
            made += "(?P<"
        elif text == "$" and not (inside or "m" in found["flags"]):
            made += r"\Z"
        else:
            made += "\\[" if text == "[" else "/" if text == "\\/" else text
    return made


def _of_module(path: Path) -> Iterator[Expression]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    name = path.relative_to(_ROOT).as_posix()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ("re", "regex"):
            raise ValueError(
                f"{name}:{node.lineno} should import `re` as a whole, so that its calls are found."
            )
        if isinstance(node, ast.Name) and node.id == "re":
            use = parents[node]
            if not isinstance(use, ast.Attribute):
                raise ValueError(f"{name}:{node.lineno} hands `re` on, so that its calls are not found.")
            call = parents[use]
            if use.attr in _FUNCTIONS and isinstance(call, ast.Call) and call.func is use:
                yield from _of_call(name, call, parents)
            elif use.attr in _FUNCTIONS or not (use.attr in _OTHERS or use.attr.isupper()):
                raise ValueError(f"{name}:{node.lineno} uses re.{use.attr} in a way that is not read.")


def _of_call(name: str, call: ast.Call, parents: dict[ast.AST, ast.AST]) -> Iterator[Expression]:
    """The patterns of a call, as they are used: several where a comprehension goes over them."""
    place = f"{name}:{call.lineno}"
    source = ast.unparse(call.args[0])
    if (name, source) in ELSEWHERE:
        return
    words = name.removesuffix(".py").removesuffix("/__init__").split("/")
    module = importlib.import_module(".".join(["kokoro_tvm", *words]))
    flags = 0
    for argument in [*call.args[1:], *(keyword.value for keyword in call.keywords)]:
        for each in ast.walk(argument):
            if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == "re":
                flags |= int(getattr(re, each.attr))
    for names in _comprehended(call, parents, module):
        try:
            found = eval(source, vars(module) | names)  # our own source
        except NameError as error:
            raise ValueError(f"{place}: {source} cannot be read from the source ({error}).") from None
        for use in sorted(_uses(call, parents)):
            yield Expression(place, _ANCHORED[use].replace("{}", found), flags)


def _uses(call: ast.Call, parents: dict[ast.AST, ast.AST]) -> set[str]:
    """What is done with a pattern: match, fullmatch, or a search, which is what is not known too."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr != "compile":
        return {call.func.attr if call.func.attr in ("match", "fullmatch") else "search"}
    made = parents[call]
    if not (isinstance(made, ast.Assign) and isinstance(target := made.targets[0], ast.Name)):
        return {"search"}
    if not target.id.startswith("_"):  # others may import it
        return {"search"}
    uses = set()
    for node in parents:
        if isinstance(node, ast.Name) and node.id == target.id and isinstance(node.ctx, ast.Load):
            method = parents[node]
            used = parents[method]
            anchored = (
                isinstance(method, ast.Attribute)
                and method.attr in ("match", "fullmatch")
                and isinstance(used, ast.Call)
                and len(used.args) == 1  # with a place, it may be called at every one
            )
            uses.add(method.attr if anchored and isinstance(method, ast.Attribute) else "search")
    return uses or {"search"}


def _comprehended(
    call: ast.Call, parents: dict[ast.AST, ast.AST], module: ModuleType
) -> Iterator[dict[str, Any]]:
    """What the name that the first argument of a call is stands for, where a comprehension goes over it."""
    node: ast.AST = call
    while not isinstance(node := parents[node], ast.stmt):
        if isinstance(node, ast.GeneratorExp | ast.ListComp):
            (loop,) = node.generators
            if ast.unparse(loop.target) == ast.unparse(call.args[0]):
                for value in eval(ast.unparse(loop.iter), vars(module)):  # our own source
                    yield {ast.unparse(loop.target): value}
                return
    yield {}
