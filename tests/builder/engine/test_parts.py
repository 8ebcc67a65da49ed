"""Parts of outputs in the store: hits, damage, and garbage collection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kokoro_tvm.builder.engine.cache import Cache
from kokoro_tvm.builder.engine.collection import collect
from kokoro_tvm.builder.engine.parts import PARTS, Parts, read_part_keys
from kokoro_tvm.builder.engine.record import StageRecord
from kokoro_tvm.builder.engine.store import Store

COMMON = {"compiler": 1}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def keep(parts: Parts, work: Path, word: str, content: str | None = None) -> None:
    path = work / f"{word}.o"
    path.write_text(content or word, encoding="utf-8")
    parts.keep({"word": word}, path, 1.5)
    assert path.read_text(encoding="utf-8") == (content or word)
    path.unlink()


def fetched(parts: Parts, work: Path, word: str) -> str | None:
    path = work / "fetched"
    path.unlink(missing_ok=True)
    return path.read_text(encoding="utf-8") if parts.fetch({"word": word}, path) else None


def test_fetch_finds_a_part_by_its_inputs(store: Store, work: Path) -> None:
    parts = Parts(store, COMMON)
    assert fetched(parts, work, "one") is None
    keep(parts, work, "one")
    again = Parts(Store(store.root), COMMON)
    assert fetched(again, work, "one") == "one"
    assert fetched(again, work, "two") is None
    assert again.keys == parts.keys != set()
    assert fetched(Parts(store, {"compiler": 2}), work, "one") is None
    assert [p.name for p in work.iterdir()] == []


@pytest.mark.parametrize("damage", ["changed", "longer", "gone"])
def test_fetch_misses_a_damaged_part(damage: str, store: Store, work: Path) -> None:
    parts = Parts(store, COMMON)
    keep(parts, work, "one")
    (path,) = (store.root / "objects").glob("*/*")
    path.chmod(0o644)
    if damage == "gone":
        path.unlink()
    else:
        path.write_text({"changed": "two", "longer": "one more"}[damage], encoding="utf-8")
    assert fetched(Parts(Store(store.root), COMMON), work, "one") is None
    keep(parts, work, "one")
    assert fetched(parts, work, "one") == "one"
    assert all(not problem for _, problem in store.audit())


def test_fetch_misses_a_damaged_record(store: Store, work: Path) -> None:
    parts = Parts(store, COMMON)
    keep(parts, work, "one")
    (path,) = (store.root / "records").glob("*/*")
    path.write_text(path.read_text(encoding="utf-8").replace("kernel", "kernal"), encoding="utf-8")
    assert fetched(parts, work, "one") is None


def test_fetch_reads_the_shared_cache(store: Store, work: Path, tmp_path: Path) -> None:
    warnings: list[str] = []
    cache = Cache(f"file://{tmp_path}/cache", "read-write", warnings.append)
    keep(Parts(Store(tmp_path / "other", cache=cache), COMMON), work, "one")
    assert fetched(Parts(Store(store.root, cache=cache), COMMON), work, "one") == "one"
    assert fetched(Parts(store, COMMON), work, "one") == "one", "it is in the store from then on"
    assert fetched(Parts(Store(store.root, cache=cache), COMMON), work, "two") is None
    assert warnings == []


def published(store: Store, inputs: dict[str, Any], keys: set[str]) -> StageRecord:
    with store.lock("a" * 64), store.workspace("a" * 64) as folder:
        (folder / PARTS).write_text(json.dumps(sorted(keys)), encoding="utf-8")
        return store.publish("cpu.compile.x", inputs, folder, [PARTS], 1.0, 1.0)


def test_collect_removes_parts_with_their_stages(store: Store, work: Path) -> None:
    old, new = Parts(store, COMMON), Parts(store, COMMON)
    keep(old, work, "one")
    keep(old, work, "two")
    former = published(store, {"build": 1}, old.keys)
    assert fetched(new, work, "two") == "two"
    keep(new, work, "three")
    latest = published(store, {"build": 2}, new.keys)
    assert read_part_keys(store, former) == old.keys
    assert read_part_keys(store, latest) == new.keys

    freed = collect(store, {latest.key, *read_part_keys(store, latest)})
    assert (freed.records, freed.objects) == (2, 2)
    results = [fetched(Parts(store, COMMON), work, word) for word in ("one", "two", "three")]
    assert results == [None, "two", "three"]
