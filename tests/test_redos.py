"""No regular expression of the runtime, the server and the page takes more than linear time.

recheck (https://makenowjust-labs.github.io/recheck/) checks them. Patterns of written forms are not here:
`kokoro_tvm/model/front_end/patterns.py` refuses unbounded repetitions in them.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

import kokoro_tvm
from kokoro_tvm.model.pins import check_sha256
from kokoro_tvm.model.sources.material import SourceUnavailableError
from kokoro_tvm.model.sources.npm import extract, pack
from kokoro_tvm.runtime.text.frontend.tokenizer import LONGEST_PART, Tokenizer, TokenizerRules
from kokoro_tvm.runtime.text.markup import MarkupVocabulary, TextRun, parse_markup
from kokoro_tvm.web import WEB

VERSION = "4.5.0"
SHA256 = "fd332e833abd002c9fc9e0b9d7a5282bbb33b0b5e81b06e7ff67c32bedca2fce"
SCRIPT = PurePosixPath("package/lib/browser.js")
PACKAGE = Path(kokoro_tvm.__file__).parent
BOUNDED = {
    "runtime/text/abbreviations.py": "sees 20 characters",
    "web/abbreviations.js": "sees 20 characters",
    "runtime/text/frontend/espeak.py": "repeats 64 times",
    "runtime/text/frontend/normalization/markdown.py": "repeats 64 and 2,000 times",
    "runtime/text/markup/formulas.py": "repeats 2,000 times, matched where a formula may begin",
    "runtime/text/markup/omissions.py": "repeats 2,000 times, matched where a mark stands",
    "runtime/text/frontend/normalization/spellout.py": "reads rules of CLDR",
}
"""Files whose patterns are polynomial up to a bound, and the bound."""
DATA = {
    "runtime/text/frontend/tokenizer.py": (
        "rules.prefix",
        "rules.suffix",
        "self._rules.infix",
        "self._rules.url",
    ),
    "runtime/text/frontend/normalization/language.py": ("pattern",),
}
"""Patterns that are data: those of spaCy see at most `LONGEST_PART` characters."""

CHARACTERS = re.compile(r"f'\[\{re\.escape\(.*\)\}\]'|f\"\[\{re\.escape\(.*\)\}\]\"")
"""A class of characters, which matches one: linear whatever it has."""


@pytest.fixture(scope="module")
def recheck(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recheck")
    try:
        archive = pack("recheck", VERSION, folder, lambda line: None)
    except SourceUnavailableError as error:
        pytest.skip(f"recheck is not available: {error}")
    extract(archive, folder, SCRIPT.__eq__, 1 << 23)
    check_sha256(folder / SCRIPT.name, SHA256, f"{SCRIPT} of recheck@{VERSION}")
    return folder / SCRIPT.name


def check(recheck: Path, patterns: Iterable[dict[str, str]], folder: Path) -> dict[str, Any]:
    """Run recheck on patterns and on the JavaScript modules of a folder."""
    command = [
        "node",
        "--expose-internals",
        str(Path(__file__).with_name("redos.mjs")),
        str(recheck),
        str(folder),
    ]
    done = subprocess.run(
        command, input=json.dumps(list(patterns)), capture_output=True, check=True, text=True
    )
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def python_patterns() -> Iterator[dict[str, str]]:
    """Patterns of the Python sources; a pattern that cannot be evaluated is an error."""
    for wing in ("runtime", "serving"):
        for path in sorted((PACKAGE / wing).rglob("*.py")):
            yield from patterns_of_module(path)


def patterns_of_module(path: Path) -> Iterator[dict[str, str]]:
    """Patterns of module constants and of other calls of `re`."""
    place = path.relative_to(PACKAGE).as_posix()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    used = [call for call in calls if isinstance(call.func, ast.Attribute)]
    if not any(ast.unparse(call.func).startswith("re.") for call in used):
        return
    name = place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    module = importlib.import_module(f"kokoro_tvm.{name}")
    assigned = set()
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            assigned |= {id(node) for node in ast.walk(statement)}
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            for pattern in compiled_in(vars(module).get(ast.unparse(target))):
                yield in_javascript(place, pattern, is_anchored(ast.unparse(target), used))
    for call in used:
        function = ast.unparse(call.func)
        if not re.fullmatch(r"re\.\w+", function) or function == "re.escape" or id(call) in assigned:
            continue
        source = ast.unparse(call.args[0])
        if source not in DATA.get(place, ()) and not CHARACTERS.fullmatch(source):
            pattern = re.compile(eval(source, vars(module)), flags_of(call))
            yield in_javascript(place, pattern, function in ("re.match", "re.fullmatch"))


def compiled_in(value: Any) -> list[re.Pattern[str]]:
    values = value if isinstance(value, list | tuple) else [value]
    return [value for value in values if isinstance(value, re.Pattern)]


def is_anchored(name: str, calls: Iterable[ast.Call]) -> bool:
    """Return whether a private pattern is only matched at the beginning of a text."""
    methods = {
        (call.func.attr, len(call.args))
        for call in calls
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == name
    }
    return name.startswith("_") and bool(methods) and methods <= {("match", 1), ("fullmatch", 1)}


def flags_of(call: ast.Call) -> int:
    names = {node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute) and node.attr.isupper()}
    return sum(int(getattr(re, name)) for name in names)


def in_javascript(place: str, pattern: re.Pattern[str], anchored: bool) -> dict[str, str]:
    """Translate a pattern of Python."""
    source = re.sub(r"\(\?P=(\w+)\)", r"\\k<\1>", re.sub(r"^\(\?\w+\)", "", pattern.pattern))
    for python, javascript in (("(?P<", "(?<"), ("\\A", "^"), ("\\Z", "$"), ("[]", "[\\]"), ("[^]", "[^\\]")):
        source = source.replace(python, javascript)
    flags = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
    letters = "".join(letter for letter, flag in flags.items() if pattern.flags & flag)
    letters += "u" if any(char > "\uffff" for char in source) else ""
    return {"place": place, "source": f"^(?:{source})" if anchored else source, "flags": letters}


@pytest.mark.slow("takes a minute, and only a new pattern can break it")
def test_patterns_are_linear(recheck: Path) -> None:
    patterns = list(python_patterns())
    result = check(recheck, patterns, WEB)
    assert len(patterns) > 100
    assert result["checked"] > len(patterns)
    assert [problem for problem in result["report"] if problem["place"] not in BOUNDED] == []


@pytest.mark.slow("needs recheck, which only a new pattern needs")
def test_redos_check_reports_superlinear_patterns(recheck: Path, tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text('export const A = new RegExp("(b|b)*c");\nexport const B = /(d*)*$/;\n')
    python = {"place": "a.py", "source": r"\s+$", "flags": ""}
    linear = {"place": "b.py", "source": r"(?<!\s)\s+$", "flags": ""}
    report = check(recheck, [python, linear], tmp_path)["report"]
    assert [problem["source"] for problem in report] == [r"\s+$", "(d*)*$", "(b|b)*c"]


def test_python_patterns_are_translated() -> None:
    pattern = re.compile(r"(?i)\A(?P<a>[]b])(?P=a)\Z")
    assert in_javascript("a.py", pattern, anchored=False) == {
        "place": "a.py",
        "source": r"^(?<a>[\]b])\k<a>$",
        "flags": "i",
    }
    assert in_javascript("a.py", re.compile("a"), anchored=True)["source"] == "^(?:a)"


def test_tokenizer_divides_long_words() -> None:
    # Some of spaCy's patterns are quadratic, so what they see has to be short.
    tokenizer = Tokenizer(TokenizerRules("^x", "x$", "~", "none", {}))
    pieces = tokenizer("a" * 1000 + " " + "b" * 3)
    assert [piece.text for piece in pieces][-1] == "bbb"
    assert "".join(piece.text for piece in pieces[:-1]) == "a" * 1000
    assert max(len(piece.text) for piece in pieces) == LONGEST_PART


def test_parse_reads_many_comments_that_are_no_ssml() -> None:
    known = MarkupVocabulary(frozenset("a"), lambda voice: "a")
    text = "<!---->" * 140 + "x"
    assert (
        "".join(item.source.text for item in parse_markup(text, known) if isinstance(item, TextRun)) == text
    )
