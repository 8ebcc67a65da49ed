"""Every bad file is refused with its place, in words of ours, and without much work."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from bad_files import FAMILIES, RECIPES, TEXTS, BadFile
from counted_calls import counted

from kokoro_tvm.recipe import LocatedRecipeError, check_file

# How the libraries below us talk; none of it helps whoever wrote the file.
JARGON = re.compile(
    "Input should|Value error|validation error|while (parsing|scanning)|expected <|did not find|indicator"
    "|<class|Traceback|object at 0x|tuple|dict|NoneType|None"
)
# Python calls to refuse a file; it takes most for thousands of faults. What the clock says is measured apart
# (docs/reliability.md). What C does within one call is not counted; were it quadratic in a length, as a
# regular expression can be, the family `bombs` would take hours.
MOST_CALLS = 250_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad") / "recipes"
    shutil.copytree(RECIPES, folder)
    (folder / "loop.yaml").write_text(TEXTS["here"].replace("toy", "full"), encoding="utf-8")
    return folder


def refused(bad: BadFile, folder: Path) -> LocatedRecipeError:
    path = folder / bad.file
    path.write_bytes(bad.content)
    with pytest.raises(LocatedRecipeError) as caught:
        check_file(path, folder)
    path.write_text(TEXTS[path.stem], encoding="utf-8")
    return caught.value


def problem(bad: BadFile, folder: Path) -> str:
    """What is wrong with how a file is refused; "" where it is as it should be."""
    calls, error = counted(lambda: refused(bad, folder))
    message, line, caret = str(error).split("\n")
    if (error.line, error.column) != bad.at:
        return f"it is at {bad.at}: {message}"
    place = f"{folder / bad.file}:{error.line}:{error.column}: "
    if not message.startswith(place):
        return f"{place} is not what it begins with: {message}"
    result = message.removeprefix(place)
    if not 20 < len(result) < 400 or JARGON.search(result.replace("`None`", "")):
        return f"it is no sentence of ours: {message}"
    if len(line) >= 120 or len(caret) >= 220:  # wide characters take two columns
        return f"what is shown is too long: {line}"
    return f"it took {calls} calls" if calls >= MOST_CALLS else ""


@pytest.mark.parametrize("family", FAMILIES)
def test_refused_with_its_place_in_words_of_ours(family: str, folder: Path) -> None:
    found = {name: problem(bad, folder) for name, bad in FAMILIES[family]()}
    assert {name: problem for name, problem in found.items() if problem} == {}


def test_there_are_enough_of_every_family() -> None:
    files = [list(make()) for make in FAMILIES.values()]
    assert min(map(len, files)) >= 7
    count = sum(map(len, files))
    assert count >= 600
    # no padding with copies
    assert len({(bad.file, bad.content) for family in files for _, bad in family}) > count - 12
