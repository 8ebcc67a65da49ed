"""Keys of stages, and stages that may yield one of several things."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_stages import stage_in

from kokoro_tvm.builder.engine.cache import Cache
from kokoro_tvm.builder.engine.digest import digest
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.common.errors import BuildError

ONE, TWO = {"word": "one"}, {"word": "two"}


def writing(root: Path, **fields: Any) -> Stage:
    return stage_in(root, "write", **({"parameters": {"text": "one"}} | fields))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
WORDS = st.dictionaries(st.sampled_from(["a", "b", "c"]), JSON, max_size=3)


@given(one=WORDS, other=WORDS)
def test_key_covers_parameters_and_facts_not_settings(one: dict[str, Any], other: dict[str, Any]) -> None:
    folder = Path("never")
    same = digest(one) == digest(other)
    for name in ("parameters", "facts", "settings"):
        first, second = (
            writing(folder, **{name: words if name == "parameters" else (lambda w=words: w)})
            for words in (one, other)
        )
        assert (first.key() == second.key()) is (same or name == "settings")


@pytest.mark.parametrize("name", ["code", "files", "inputs", "parameters", "function"])
def test_key_rejects_facts_with_reserved_names(name: str) -> None:
    stage = writing(Path("never"), facts=lambda: {name: {"a.c": "1"}})
    with pytest.raises(ValueError, match=rf"cpu\.write: a derivation has a {name} of its own"):
        stage.key()


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "cpu.other"},
        {"function": "fake_stages:half"},
        {"outputs": ("out.txt", "more.txt")},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_key_covers_kind_function_and_outputs(fields: dict[str, Any]) -> None:
    assert writing(Path("never"), **fields).key() != writing(Path("never")).key()


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "other.write"},
        {"doc": "other"},
        {"folder": Path("other")},
        {"work": Path("other")},
        {"store": Store(Path("other"))},
        {"cache": Path("other")},
        {"timeout_s": 1.0},
        {"preload": ("fake_stages",)},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_key_ignores_paths_and_limits(fields: dict[str, Any]) -> None:
    assert writing(Path("never"), **fields).key() == writing(Path("never")).key()


def test_settings_reach_the_function(tmp_path: Path) -> None:
    stage = writing(tmp_path, parameters={}, settings=lambda: {"text": "set", "threads": 2})
    stage.run()
    assert stage.path("out.txt").read_text() == "set"
    assert replace(stage, settings=lambda: {"text": "other"}).is_current()


def obtaining(folder: Path, source: dict[str, str], **fields: Any) -> Stage:
    """Return a stage that may yield one of two things; `source` is the one that it fetches."""
    return writing(
        folder,
        name="cpu.obtain",
        function="fake_stages:obtain",
        outputs=("thing", "source.json"),
        parameters={"addresses": ["anywhere"]},
        yields=(ONE, TWO),
        settings=lambda: {"source": source},
        **fields,
    )


@pytest.mark.parametrize("source", [ONE, TWO], ids=["best", "second"])
def test_any_yield_makes_the_stage_current(tmp_path: Path, source: dict[str, str]) -> None:
    stage = obtaining(tmp_path, source)
    assert stage.state().kind == "missing"
    assert stage.run() == "built"
    for looking in (stage, obtaining(tmp_path, ONE), obtaining(tmp_path, TWO)):
        assert looking.is_current()
        assert looking.derivation()["yields"] == source
        assert looking.key() == stage.record().key
    assert stage.record().key == digest(next(d for d in stage.derivations() if d["yields"] == source))


@pytest.mark.parametrize("source", [ONE, TWO], ids=["best", "second"])
def test_run_restores_any_yield(tmp_path: Path, source: dict[str, str]) -> None:
    obtaining(tmp_path, source).run()
    shutil.rmtree(tmp_path / "seen")
    other = obtaining(tmp_path, TWO if source is ONE else ONE)
    assert (other.state().kind, other.kept()) == ("missing", obtaining(tmp_path, source).record())
    assert other.run() == "restored"
    assert other.path("thing").read_text() == source["word"]
    assert other.is_current()


def test_key_ignores_the_source_of_a_yield(
    tmp_path: Path,
) -> None:
    obtaining(tmp_path, ONE).run()
    elsewhere = replace(obtaining(tmp_path, ONE), parameters={"addresses": ["elsewhere", "anywhere"]})
    assert elsewhere.is_current()
    assert replace(elsewhere, facts=lambda: {"versions": {"numpy": "2"}}).state().kind == "stale"


def test_yield_that_is_no_longer_declared_is_stale(tmp_path: Path) -> None:
    obtaining(tmp_path, TWO).run()
    strict = replace(obtaining(tmp_path, ONE), yields=(ONE,))
    (change,) = strict.state().changes
    assert (change.name, change.old, change.new) == ("yields.word", '"two"', '"one"')
    assert strict.run() == "built"
    assert strict.path("thing").read_text() == "one"


def test_run_rejects_an_undeclared_yield(tmp_path: Path) -> None:
    stage = obtaining(tmp_path, {"word": "three"})
    with pytest.raises(BuildError) as caught:
        stage.run()
    assert str(caught.value) == (
        "cpu.obtain: yielded {'word': 'three'}, which it was not declared to; it is not kept."
    )
    assert list(stage.store.records()) == []
    assert not stage.path("thing").exists()
    state = stage.state()
    assert state.kind == "failed"


def test_state_shows_a_failed_fetch(tmp_path: Path) -> None:
    obtaining(tmp_path, TWO).run()
    shutil.rmtree(tmp_path / "seen")
    shutil.rmtree(tmp_path / ".store" / "objects")
    stage = obtaining(tmp_path, {"word": "three"})
    assert stage.state().kind == "missing"
    with pytest.raises(BuildError):
        stage.run()
    assert stage.state().kind == "failed"


def shared(folder: Path, cache: Path, source: dict[str, str], notes: list[str]) -> Stage:
    """Return the stage in a checkout with the shared cache."""
    store = Store(folder / ".store", cache=Cache(str(cache), "read-write", notes.append))
    return obtaining(folder, source, store=store)


@pytest.mark.parametrize("source", [ONE, TWO], ids=["best", "second"])
def test_cache_restores_any_yield(tmp_path: Path, source: dict[str, str]) -> None:
    notes: list[str] = []
    shared(tmp_path / "a", tmp_path / "cache", source, notes).run()
    other = shared(tmp_path / "b", tmp_path / "cache", TWO if source is ONE else ONE, notes)
    assert other.run() == "restored"
    assert other.path("thing").read_text() == source["word"]
    assert other.record().derivation["yields"] == source
    assert not notes


def test_cache_refuses_a_yield_under_another_key(tmp_path: Path) -> None:
    """The record of the second yield lies under the key of the first."""
    notes: list[str] = []
    second = shared(tmp_path / "a", tmp_path / "cache", TWO, notes)
    second.run()
    first_key, second_key = map(digest, second.derivations())
    records = tmp_path / "cache" / "records"
    (place,) = records.glob(f"*/{second_key}*")
    forged = records / first_key[:2] / place.name.replace(second_key, first_key)
    forged.parent.mkdir(exist_ok=True)
    place.rename(forged)
    other = shared(tmp_path / "b", tmp_path / "cache", ONE, notes)
    assert other.run() == "built"
    assert other.path("thing").read_text() == "one"
    assert other.record().key == first_key
    assert len(notes) == 1
