"""Every bad file is refused with its place, in words of ours, and without much work."""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bad_files import ALL, FAMILIES, RECIPES, TEXTS, BadFile

from kokoro_tvm.recipe import Known, LocatedRecipeError, check_file

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


def refused(bad: BadFile, folder: Path, known: Known) -> LocatedRecipeError:
    path = folder / bad.file
    path.write_bytes(bad.content)
    with pytest.raises(LocatedRecipeError) as caught:
        check_file(path, folder, known)
    path.write_text(TEXTS[path.stem], encoding="utf-8")
    return caught.value


@pytest.mark.parametrize("name", ALL)
def test_refused_with_its_place_in_words_of_ours(name: str, folder: Path, known: Known) -> None:
    bad = ALL[name]
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        error = refused(bad, folder, known)
    finally:
        sys.setprofile(None)
    message, line, caret = str(error).split("\n")
    assert (error.line, error.column) == bad.at, message
    assert message.startswith(f"{folder / bad.file}:{error.line}:{error.column}: ")
    result = message.partition(f":{error.line}:{error.column}: ")[2]
    assert 20 < len(result) < 400
    assert not JARGON.search(result.replace("`None`", "")), result
    assert len(line) < 120
    assert len(caret) < 220  # wide characters take two columns
    assert calls < MOST_CALLS


def test_there_are_enough_of_every_family() -> None:
    count = Counter(name.partition(": ")[0] for name in ALL)
    assert count.keys() == FAMILIES.keys()
    assert min(count.values()) >= 7
    assert count.total() >= 600
    assert (
        len({(bad.file, bad.content) for bad in ALL.values()}) > count.total() - 12
    )  # no padding with copies
