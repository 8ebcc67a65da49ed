"""Every faulty file is refused with its place and a message that is not a library's."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from bad_files import FAMILIES, RECIPES, TEXTS, BadFile

from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.recipe import check_file

# Words of pydantic, PyYAML and Python, which help no author of a recipe.
JARGON = re.compile(
    "Input should|Value error|validation error|while (parsing|scanning)|expected <|did not find|indicator"
    "|<class|Traceback|object at 0x|tuple|dict|NoneType|None"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad") / "recipes"
    shutil.copytree(RECIPES, folder)
    (folder / "loop.yaml").write_text(TEXTS["here"].replace("toy", "full"), encoding="utf-8")
    return folder


def problem(bad: BadFile, folder: Path) -> str:
    """Return what is wrong with the error for a file, or ""."""
    path = folder / bad.file
    path.write_bytes(bad.content)
    try:
        check_file(path, folder)
    except RecipeError as error:
        message, line, _ = str(error).split("\n")
    else:
        return "no error"
    finally:
        path.write_text(TEXTS[path.stem], encoding="utf-8")
    place = f"{path}:{bad.at[0]}:{bad.at[1]}: "
    text = message.removeprefix(place)
    if text == message:
        return f"not at {bad.at}: {message}"
    if not 20 < len(text) < 400 or JARGON.search(text.replace("`None`", "")):
        return f"words of a library: {message}"
    return f"too long a line: {line}" if len(line) >= 120 else ""


@pytest.mark.parametrize("family", FAMILIES)
def test_check_file_reports_place_in_plain_words(family: str, folder: Path) -> None:
    problems = {name: problem(bad, folder) for name, bad in FAMILIES[family]()}
    assert {name: text for name, text in problems.items() if text} == {}
