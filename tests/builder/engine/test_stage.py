"""Stages: when they run, are restored, fail or are stale."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_stages import stage_in

from kokoro_tvm.builder.engine import code
from kokoro_tvm.builder.engine import stage as engine_stage
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.state import Change, State
from kokoro_tvm.builder.engine.worker import WorkerError
from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.common.errors import BuildError, ValidationError


@pytest.fixture
def first(tmp_path: Path) -> Stage:
    return make(tmp_path / "first", "one")


def make(folder: Path, text: str, function: str = "write") -> Stage:
    places = {"folder": folder, "work": folder / "work"}
    return stage_in(folder.parent, folder.name, function, parameters={"text": text}, **places)


def after(first: Stage) -> Stage:
    second = make(first.folder.parent / "second", "after")
    return replace(second, inputs={"first": (first, "out.txt")})


def doing(stage: Stage, function: str, **parameters: Any) -> Stage:
    """Return the stage with another function."""
    return replace(stage, function=f"fake_stages:{function}", parameters=parameters)


def damage(path: Path, content: bytes) -> None:
    """Write into a file in place, which no stage does."""
    path.chmod(0o644)
    path.write_bytes(content)


def test_stage_is_current_after_a_run(first: Stage) -> None:
    assert first.state().kind == "missing"
    assert first.run() == "built"
    assert first.is_current()
    record = first.record()
    assert (record.stage, [o.file for o in record.outputs]) == ("cpu.first", ["out.txt"])
    assert first.key() == record.key
    assert first.log_path.read_text().startswith("writing ")
    assert first.path("out.txt").read_text() == "one"
    assert not list((first.store.root / "work").glob("*-*"))


def test_stage_restores_earlier_parameters(first: Stage) -> None:
    first.run()
    other = make(first.folder, "two")
    assert other.state() == State("stale", (Change("parameters.text", '"one"', '"two"'),))
    assert other.run() == "built"
    assert other.kept() == other.record()
    assert first.state() == State("stale", (Change("parameters.text", '"two"', '"one"'),))
    assert first.kept() == first.store.record(first.key()) is not None
    assert first.run() == "restored"
    assert first.is_current()
    assert first.path("out.txt").read_text() == "one"
    assert [r.derivation["parameters"]["text"] for r in first.store.history(first.name)] == ["two", "one"]


def test_stage_restores_a_replaced_output(first: Stage) -> None:
    first.run()
    for content in (None, b"else", b"eno"):
        first.path("out.txt").unlink()
        if content is not None:
            first.path("out.txt").write_bytes(content)
        state = first.state()
        assert state.kind == ("missing" if content is None else "damaged")
        assert [d.path for d in state.damage] == [first.path("out.txt")]
        assert first.kept() == first.record()
        assert first.run() == "restored"
        assert first.is_current()
    assert first.path("out.txt").read_text() == "one"


def test_stage_rebuilds_an_output_damaged_in_place(first: Stage) -> None:
    """The output is a hard link to the store's object."""
    first.run()
    good = first.path("out.txt").read_bytes()
    for content in (b"", b"else", b"eno"):
        before = first.path("out.txt").stat()
        damage(first.path("out.txt"), content)
        os.utime(first.path("out.txt"), ns=(before.st_atime_ns, before.st_mtime_ns))
        assert first.state().kind == "damaged"
        assert first.kept() is None
        assert first.run() == "built"
        assert first.is_current()
        assert first.path("out.txt").read_bytes() == good


def test_stage_waits_for_inputs_that_are_not_built(first: Stage) -> None:
    second = after(first)
    assert second.state() == State("missing", waiting=("cpu.first",))
    first.run()
    second.run()
    assert second.is_current()
    (first.store.root / "stages" / first.name).unlink()
    assert second.state() == State("stale", waiting=("cpu.first",))
    with pytest.raises(BuildError, match=r"cpu\.first: not built yet, or its record is damaged; run doit"):
        second.run()
    assert first.run() == "restored"
    assert second.is_current()


def test_state_names_a_missing_tool(first: Stage) -> None:

    def facts() -> dict[str, Any]:
        raise BuildError("no working gcc: install it")

    second = replace(after(first), facts=facts)
    assert second.state() == State("missing", problem="no working gcc: install it.")
    first.run()
    assert second.state() == State("missing", problem="no working gcc: install it.")
    after(first).run()
    assert second.state() == State("stale", problem="no working gcc: install it.")
    with pytest.raises(BuildError, match="no working gcc"):
        second.run()


def test_equal_outputs_keep_later_stages_current(first: Stage) -> None:
    first.run()
    second = after(first)
    second.run()
    changed = replace(first, facts=lambda: {"versions": {"tool": "2.0"}})
    assert changed.run() == "built"
    assert after(changed).is_current()


@pytest.mark.parametrize("function", ["refuse", "stumble", "nothing"])
def test_failure_publishes_nothing_and_keeps_outputs(first: Stage, function: str) -> None:
    first.run()
    arguments = {"message": "It missed."} if function == "refuse" else {}
    failing = doing(first, function, **arguments)
    with pytest.raises(ValidationError if function == "refuse" else BuildError) as caught:
        failing.run()
    assert str(caught.value).startswith("cpu.first: ")
    assert str(failing.log_path) in str(caught.value)
    assert first.is_current()
    assert not failing.is_current()
    assert len(list(first.store.records())) == 1


def test_failure_counts_until_the_request_changes(first: Stage) -> None:
    failing = doing(first, "refuse", message="It missed.")
    with pytest.raises(ValidationError):
        failing.run()
    result = failing.state()
    assert (result.kind, failing.kept()) == ("failed", None)
    assert result.failure is not None
    assert result.failure.error == "ValidationError"
    assert result.failure.message.startswith("cpu.first: It missed. Its log is ")
    assert doing(first, "refuse", message="Again.").state().kind == "missing"
    failing.failure_path.write_text('{"key": "a"', encoding="utf-8")
    assert failing.state().kind == "missing"


def test_success_removes_the_failure(first: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, pytest.raises(BuildError):
        patch.setattr(Stage, "call", lambda self, *args, **named: _raise(BuildError("It broke.")))
        first.run()
    assert first.state().kind == "failed"
    first.run()
    assert first.state().kind == "current"
    assert not first.failure_path.exists()


def _raise(error: Exception) -> None:
    raise error


def test_failed_run_keeps_its_files(first: Stage) -> None:
    failing = doing(first, "half", file="x", message="No.")
    with pytest.raises(ValidationError):
        failing.run()
    assert (failing.failed_path / "x").read_text() == "half"
    doing(first, "half", file="out.txt").run()
    assert not failing.failed_path.exists()


def test_run_publishes_nothing_if_inputs_change(first: Stage) -> None:
    first.run()
    second = after(first)
    message = r"cpu\.second: {} changed while it ran, so what it wrote was not kept; run doit again"

    def editions(*values: int) -> Callable[[], dict[str, int]]:
        edition = iter(values)
        return lambda: {"edition": next(edition)}

    with pytest.raises(BuildError, match=message.format("edition")):
        replace(second, facts=editions(1, 1, 2)).run()
    with pytest.raises(BuildError, match=r"cpu\.second: edition keeps changing; build when it is at rest"):
        replace(second, facts=editions(*range(100))).run()
    with pytest.raises(BuildError, match=message.format(re.escape(str(first.path("out.txt"))))):
        replace(second, function="fake_stages:spoil").run()
    assert second.previous() is None
    assert len(list(first.store.records())) == 1


def test_parallel_runs_build_once(first: Stage) -> None:
    slow = make(first.folder, ".", "append")
    with ThreadPoolExecutor(2) as pool:
        ended = [pool.submit(slow.run), pool.submit(make(first.folder, ".", "append").run)]
        assert sorted(f.result() for f in ended) == ["built", "restored"]
    assert first.path("out.txt").read_text() == "."


def test_run_reads_facts_after_waiting(first: Stage) -> None:
    facts = {"tool": "a"}
    slow = replace(make(first.folder, ".", "append"), facts=lambda: {"tool": "a"})
    waiting = replace(slow, facts=lambda: dict(facts))
    with ThreadPoolExecutor(2) as pool:
        building = pool.submit(slow.run)
        while not list((first.store.root / "work").glob("*-*")):
            time.sleep(0.01)
        waited = pool.submit(waiting.run)
        time.sleep(0.1)
        facts["tool"] = "b"
        assert (building.result(), waited.result()) == ("built", "built")
    assert waiting.is_current()
    assert waiting.record().derivation["tool"] == "b"


def test_run_removes_outputs_of_earlier_records(first: Stage) -> None:
    folder = first.folder
    names = ["also.txt", "out.txt"]
    both = replace(doing(first, "several", files=names), outputs=tuple(names))
    both.run()
    (folder / "foreign.txt").write_text("mine")
    first.run()
    assert sorted(p.name for p in folder.iterdir() if p.is_file()) == ["foreign.txt", "out.txt"]
    assert both.run() == "restored"
    assert sorted(p.name for p in folder.iterdir() if p.is_file()) == ["also.txt", "foreign.txt", "out.txt"]


def test_read_json_falls_back_to_the_store(first: Stage) -> None:
    wrote = make(first.folder, "[1]")
    wrote.run()
    assert wrote.read_json("out.txt") == [1]
    wrote.path("out.txt").unlink()
    assert wrote.read_json("out.txt") == [1]
    damage(wrote.store.object(wrote.sha256("out.txt")), b"[2]")
    with pytest.raises(BuildError, match=r"cpu\.first: out\.txt is missing or damaged; run doit again"):
        wrote.read_json("out.txt")


def test_force_ignores_the_store(first: Stage) -> None:
    """The store has a record with the right key and wrong outputs."""
    first.run()
    key = first.key()
    with first.store.workspace(key) as out:
        (out / "out.txt").write_text("wrong", encoding="utf-8")
        wrong = first.store.publish(first.name, first.derivation(), out, first.outputs, 1.0, 1.0)
    assert first.store.restore(wrong, first.folder, first.name)
    assert first.is_current()
    assert first.run() == "restored"
    assert first.path("out.txt").read_text() == "wrong"
    assert first.run(force=True) == "built"
    assert (first.path("out.txt").read_text(), first.key()) == ("one", key)
    assert first.is_current()


def test_force_ignores_the_stage_s_cache(first: Stage) -> None:
    stage = replace(doing(first, "count", text="x"), cache=first.folder.parent / "cache")
    for force, lines in ((False, "1"), (True, "1 1")):
        stage.run(force=force)
        assert stage.path("out.txt").read_text() == ("again" if force else "kept")
        assert " ".join((stage.folder.parent / "cache" / "lines").read_text().split()) == lines


def test_stage_rebuilds_outside_the_store(first: Stage) -> None:
    stage = replace(doing(first, "count", text="x"), cache=first.folder.parent / "cache")
    stage.run()
    before = {path: path.read_bytes() for path in stage.store.root.rglob("*") if path.is_file()}
    digests = stage.rebuild()
    assert digests.keys() == {"out.txt"}
    assert digests["out.txt"] != file_sha256(stage.path("out.txt"))
    assert stage.path("out.txt").read_text() == "kept"
    assert (stage.folder.parent / "cache" / "lines").read_text().split() == ["1"], "a cache of its own"
    assert {path: path.read_bytes() for path in before} == before
    assert not list((stage.store.root / "work").glob("*"))


def test_failure_counts_until_a_source_changes(
    first: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "kokoro_tvm"
    package.mkdir()
    (package / "a.py").write_text("X = 1\n", encoding="utf-8")
    monkeypatch.setattr(code, "_PACKAGE", package)
    stage = doing(first, "die", signal=9)
    with pytest.raises(WorkerError):
        stage.run()
    assert stage.state().kind == "failed"
    (package / "a.py").write_text("X = 2\n", encoding="utf-8")
    assert stage.state().kind == "missing"


def test_failure_does_not_count_after_an_edit_meanwhile(
    first: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "kokoro_tvm"
    package.mkdir()
    source = package / "a.py"
    source.write_text("X = 1\n", encoding="utf-8")
    monkeypatch.setattr(code, "_PACKAGE", package)

    def run_worker(*arguments: Any) -> float:
        source.write_text("X = 22\n", encoding="utf-8")
        raise WorkerError("it failed")

    monkeypatch.setattr(engine_stage, "run_worker", run_worker)
    with pytest.raises(WorkerError):
        first.run()
    assert first.state().kind == "missing"
