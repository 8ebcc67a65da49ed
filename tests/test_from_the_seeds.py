"""docs/from-the-seeds.md: what the earlier attempt had, and what is there now: that it is, is tested here."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

import pytest
from test_docs import COMMANDS, ROOT, read

from kokoro_tvm.recipe import list_recipes

PAGE = "docs/from-the-seeds.md"
TOOLCHAIN = {"kokoro", "apache-tvm-ffi"}
# What builds make and programs consist of; tests/build and tests/test_export.py hold these.
WORDS = {"artifacts/", "module.py", "kokoro::", "validate", "speech", "length"}


def rows() -> list[tuple[str, str]]:
    found = re.findall(r"^\| (.+?) \| (.+?) \|$", read(PAGE), re.MULTILINE)
    return [row for row in found if row != ("then", "now") and not row[0].startswith("---")]


def named() -> Iterator[str]:
    """The code spans of the right column."""
    for _, now in rows():
        yield from re.findall(r"`([^`]+)`", now)


def fields() -> set[str]:
    """Every recipe field, and every part of a path to one: buckets, buckets.frames."""
    paths = re.findall(r"^\| `([\w.\[\]]+)` \|", read("docs/recipes.md"), re.MULTILINE)
    return {".".join(path.split(".")[: i + 1]) for path in paths for i in range(path.count(".") + 1)}


def is_command(words: list[str]) -> bool:
    """`kokoro-tvm build cpu/decoder-5120`: a command there is, with options it has."""
    depth = next((n for n in range(len(words), 0, -1) if " ".join(words[:n]) in COMMANDS), 0)
    if depth < min(2, len(words)):
        return False
    parameters = COMMANDS[" ".join(words[:depth])].params
    options = {name for p in parameters for name in (*p.opts, *p.secondary_opts)}
    return all(word in options for word in words[depth:] if word.startswith("-"))


def exists(span: str) -> bool:
    words = span.split()
    if words[0] == "kokoro-tvm":
        return is_command(words)
    if words[0] == "doit":
        return set(words[1:]) <= {"list", *list_recipes(ROOT / "recipes")}
    field, _, value = span.partition(": ")
    if field in fields():
        result = re.findall(rf"^\| `{re.escape(field)}` \| (.+?) \|", read("docs/recipes.md"), re.MULTILINE)
        return not value or any(f"`{value}`" in values for values in result)
    if span in TOOLCHAIN:
        project = tomllib.loads(read("pyproject.toml"))["project"]
        pins = project["dependencies"] + project["optional-dependencies"]["build"]
        return any(pin.startswith(f"{span}==") for pin in pins)
    return span in WORDS or (ROOT / span).exists()


def test_there_is_a_row_for_everything() -> None:
    assert len(rows()) > 60
    then = [row[0] for row in rows()]
    assert len(set(then)) == len(then), "something is told twice"


@pytest.mark.parametrize("span", sorted(set(named())))
def test_what_it_is_now_exists(span: str) -> None:
    assert exists(span), f"{PAGE} names `{span}`, which there is not"


@pytest.mark.parametrize(
    "span", ["kokoro-tvm nothing", "kokoro-tvm build --no", "doit no", "a/b.py", "length: no"]
)
def test_what_does_not_exist_is_found_out(span: str) -> None:
    assert not exists(span)
