"""A stage: built once, built again when something it is made of changes, never left half built."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kokoro_tvm.build.record import read_record
from kokoro_tvm.build.stage import Stage
from kokoro_tvm.errors import BuildError, ValidationError

pytestmark = pytest.mark.usefixtures("fake_stages")


@pytest.fixture
def first(tmp_path: Path) -> Stage:
    return make(tmp_path / "first", {"word": "one"})


def make(folder: Path, ingredients: dict[str, Any], function: str = "write") -> Stage:
    out = folder / "out.txt"
    return Stage(
        name=f"cpu.{folder.name}",
        doc="write a word",
        folder=folder,
        work=folder / "work",
        function=function,
        arguments=lambda: {"path": str(out), "text": str(ingredients)},
        outputs=("out.txt",),
        ingredients=lambda: ingredients,
        timeout_s=60,
    )


def after(first: Stage) -> Stage:
    second = make(first.folder.parent / "second", {})
    return replace(second, ingredients=lambda: {"first": first.sha256("out.txt")}, after=(first,))


def test_it_is_current_once_it_ran(first: Stage) -> None:
    assert not first.is_current()
    first.run()
    assert first.is_current()
    record = first.record()
    assert (record.stage, [o.file for o in record.outputs]) == ("cpu.first", ["out.txt"])
    assert first.log_path.read_text() == f"writing {first.path('out.txt')}\n"


def test_other_ingredients_or_another_output_mean_once_more(first: Stage) -> None:
    first.run()
    assert not make(first.folder, {"word": "two"}).is_current()
    first.path("out.txt").write_text("else")
    assert not first.is_current()
    first.run()
    assert first.is_current()


def test_what_it_is_made_of_is_not_built(first: Stage) -> None:
    second = after(first)
    first.run()
    second.run()
    assert second.is_current()
    first.record_path.unlink()
    assert not second.is_current()
    with pytest.raises(BuildError, match=r"cpu\.first: not built yet, .* is missing or damaged; run doit"):
        second.run()


def test_equal_output_stops_the_chain(first: Stage) -> None:
    first.run()
    second = after(first)
    second.run()
    changed = replace(first, ingredients=lambda: {"word": "one", "source": "other"})
    changed.run()
    assert after(changed).is_current()


@pytest.mark.parametrize("function", ["refuse", "stumble", "nothing"])
def test_a_failure_leaves_no_record(first: Stage, function: str) -> None:
    first.run()
    arguments = {"message": "It missed."} if function == "refuse" else {}
    if function == "nothing":
        first.path("out.txt").unlink()
    failing = replace(first, function=function, arguments=lambda: arguments)
    first.record_path.rename(failing.record_path)
    with pytest.raises(ValidationError if function == "refuse" else BuildError) as caught:
        failing.run()
    assert str(caught.value).startswith("cpu.first: ")
    assert str(failing.log_path) in str(caught.value)
    assert read_record(failing.record_path) is None


def test_a_change_while_it_runs_is_no_success(first: Stage) -> None:
    asked: list[int] = []

    def ingredients() -> dict[str, int]:
        asked.append(len(asked))
        return {"edition": asked[-1]}

    with pytest.raises(BuildError, match=r"cpu\.first: something it is made of was changed while it ran"):
        replace(first, ingredients=ingredients).run()
    assert not first.record_path.exists()


def test_two_builds_at_once_build_it_once(first: Stage) -> None:
    slow = replace(make(first.folder, {"word": "."}, "append"))
    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(slow.run), pool.submit(slow.run)]:
            future.result()
    assert first.path("out.txt").read_text() == "{'word': '.'}"


def test_json_of_an_output(first: Stage) -> None:
    first.run()
    with pytest.raises(BuildError, match=r"cpu\.first: out\.txt cannot be read, run doit again"):
        first.read_json("out.txt")
    first.path("out.txt").write_text("[1]")
    assert first.read_json("out.txt") == [1]
