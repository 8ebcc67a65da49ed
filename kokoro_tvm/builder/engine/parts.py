"""Parts of an output, kept in the store each under what it is made of: one that did not change is not made
again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kokoro_tvm.builder.engine import durable
from kokoro_tvm.builder.engine.digest import digest
from kokoro_tvm.builder.engine.durable import storing
from kokoro_tvm.builder.engine.record import StageRecord
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.builder.engine.trace import count

__all__ = ["PARTS", "Parts", "parts_of", "parts_store"]

PARTS = "parts.json"
"""The output in which a stage lists the keys of the parts it used; the store keeps these as long as it."""

_KIND, _FILE = "kernel", "part"


class Parts:
    """Objects of kernels, as records of the store and of its cache.

    common: what every one is made of besides its own inputs; again: whether every part is made again.
    """

    def __init__(self, store: Store, common: Mapping[str, Any], again: bool = False) -> None:
        self._store, self._common, self._again = store, common, again
        self.keys: set[str] = set()
        """Keys of the records of all parts that were fetched or kept."""

    def fetch(self, inputs: Mapping[str, Any], path: Path) -> bool:
        """Makes `path`, which must not exist, the part made of `inputs`.

        False if neither the store nor its cache has it undamaged. Raises BuildError.
        """
        key = digest(self._made_of(inputs))
        record = None if self._again else self._find(key)
        if record is None:
            return False
        with storing(path):
            try:
                durable.link(self._store.object(record.sha256(_FILE)), path)
            except FileNotFoundError:  # collected since
                return False
        self.keys.add(key)
        count(record.derivation.get("code", {}), record.derivation.get("files", ()))
        return True

    def keep(self, inputs: Mapping[str, Any], path: Path, seconds: float) -> None:
        """Keeps the part in `path`, a file on the store's file system that nobody writes to any more.

        seconds: how long it took to make. Raises BuildError.
        """
        with TemporaryDirectory(dir=path.parent, prefix=".part-") as folder:
            with storing(path):
                durable.link(path, Path(folder, _FILE))
            record = self._store.publish(
                _KIND, self._made_of(inputs), Path(folder), [_FILE], seconds, seconds
            )
        self.keys.add(record.key)

    def _made_of(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        return {"part": _KIND, **self._common, **inputs}

    def _find(self, key: str) -> StageRecord | None:
        record = self._store.record(key)
        if record is not None and all(self._store.holds(o) for o in record.outputs):
            return record
        if self._store.cache is None:
            return None
        with self._store.lock(key):
            found = self._store.cache.record(key, [_FILE])
            return found if found is not None and self._store.fetch(found, key) else None


def parts_of(store: Store, record: StageRecord) -> set[str]:
    """Keys of the parts that a stage used, by what it listed; none where its list is lost."""
    for output in record.outputs:
        if output.file == PARTS and store.holds(output):
            return set(json.loads(store.object(output.sha256).read_text(encoding="utf-8")))
    return set()


def parts_store(store: Store) -> Store:
    """The store of the parts that a store's stages use: a folder of its own, which such a stage may open."""
    return Store(store.root / "parts", store.paranoid)
