"""What a stage's key is made of, and what it is not; stages that may yield one of several things."""

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
def test_parameters_and_facts_decide_and_settings_do_not(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Each alone: keys are equal where what decides is."""
    folder = Path("never")
    same = digest(one) == digest(other)
    for name in ("parameters", "facts", "settings"):
        first, second = (
            writing(folder, **{name: words if name == "parameters" else (lambda w=words: w)})
            for words in (one, other)
        )
        assert (first.key() == second.key()) is (same or name == "settings")


@pytest.mark.parametrize("name", ["code", "files", "inputs", "parameters", "function"])
def test_no_fact_takes_the_place_of_another_part(name: str) -> None:
    """It would be left out of the key, or leave that out."""
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
def test_its_kind_its_function_and_its_outputs_decide(fields: dict[str, Any]) -> None:
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
def test_places_and_how_it_is_run_do_not(fields: dict[str, Any]) -> None:
    assert writing(Path("never"), **fields).key() == writing(Path("never")).key()


def test_settings_are_passed_all_the_same(tmp_path: Path) -> None:
    stage = writing(tmp_path, parameters={}, settings=lambda: {"text": "set", "threads": 2})
    stage.run()
    assert stage.path("out.txt").read_text() == "set"
    assert replace(stage, settings=lambda: {"text": "other"}).is_current()


def obtaining(folder: Path, source: dict[str, str], **fields: Any) -> Stage:
    """One that may come to yield one of two things; `source` says which."""
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
def test_whatever_of_it_was_yielded_makes_it_current(tmp_path: Path, source: dict[str, str]) -> None:
    stage = obtaining(tmp_path, source)
    assert stage.state().kind == "missing"
    assert stage.run() == "built"
    for looking in (stage, obtaining(tmp_path, ONE), obtaining(tmp_path, TWO)):
        assert looking.is_current()
        assert looking.derivation()["yields"] == source
        assert looking.key() == stage.record().key
    assert stage.record().key == digest(next(d for d in stage.derivations() if d["yields"] == source))


@pytest.mark.parametrize("source", [ONE, TWO], ids=["best", "second"])
def test_whatever_of_it_the_store_has_is_restored(tmp_path: Path, source: dict[str, str]) -> None:
    obtaining(tmp_path, source).run()
    shutil.rmtree(tmp_path / "seen")
    other = obtaining(tmp_path, TWO if source is ONE else ONE)
    assert (other.state().kind, other.kept()) == ("missing", obtaining(tmp_path, source).record())
    assert other.run() == "restored"
    assert other.path("thing").read_text() == source["word"]
    assert other.is_current()


def test_where_it_is_obtained_counts_in_no_key(
    tmp_path: Path,
) -> None:
    """Another address, another order of addresses: what has to come out is the same."""
    obtaining(tmp_path, ONE).run()
    elsewhere = replace(obtaining(tmp_path, ONE), parameters={"addresses": ["elsewhere", "anywhere"]})
    assert elsewhere.is_current()
    assert replace(elsewhere, facts=lambda: {"versions": {"numpy": "2"}}).state().kind == "stale"


def test_what_may_no_longer_be_yielded_is_stale(tmp_path: Path) -> None:
    obtaining(tmp_path, TWO).run()
    strict = replace(obtaining(tmp_path, ONE), yields=(ONE,))
    (change,) = strict.state().changes
    assert (change.name, change.old, change.new) == ("yields.word", '"two"', '"one"')
    assert strict.run() == "built"
    assert strict.path("thing").read_text() == "one"


def test_what_was_not_declared_is_refused(tmp_path: Path) -> None:
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


def test_a_failure_to_obtain_it_anew_is_shown(tmp_path: Path) -> None:
    """Though what was obtained last is not what would be best."""
    obtaining(tmp_path, TWO).run()
    shutil.rmtree(tmp_path / "seen")
    shutil.rmtree(tmp_path / ".store" / "objects")
    stage = obtaining(tmp_path, {"word": "three"})
    assert stage.state().kind == "missing"
    with pytest.raises(BuildError):
        stage.run()
    assert stage.state().kind == "failed"


def shared(folder: Path, cache: Path, source: dict[str, str], notes: list[str]) -> Stage:
    """In a checkout with a cache that it shares with others."""
    store = Store(folder / ".store", cache=Cache(str(cache), "read-write", notes.append))
    return obtaining(folder, source, store=store)


@pytest.mark.parametrize("source", [ONE, TWO], ids=["best", "second"])
def test_a_cache_hands_over_what_it_has_under_its_own_key(tmp_path: Path, source: dict[str, str]) -> None:
    notes: list[str] = []
    shared(tmp_path / "a", tmp_path / "cache", source, notes).run()
    other = shared(tmp_path / "b", tmp_path / "cache", TWO if source is ONE else ONE, notes)
    assert other.run() == "restored"
    assert other.path("thing").read_text() == source["word"]
    assert other.record().derivation["yields"] == source
    assert not notes


def test_a_cache_never_hands_over_one_as_the_other(tmp_path: Path) -> None:
    """A record of the second, kept under the key of the first, is not believed."""
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
