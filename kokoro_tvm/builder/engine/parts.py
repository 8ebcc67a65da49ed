"""Store of parts of outputs, such as objects of kernels, so that unchanged parts are not built again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kokoro_tvm.builder.engine import durable
from kokoro_tvm.builder.engine.digest import digest
from kokoro_tvm.builder.engine.durable import translate_write_errors
from kokoro_tvm.builder.engine.record import StageRecord
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.builder.engine.trace import count

PARTS = "parts.json"
"""Output in which a stage lists the keys of its parts; the store keeps these with the stage's record."""

_KIND, _FILE = "kernel", "part"


class Parts:
    """Objects of kernels, as records of a store and of its cache.

    Args:
        store: The store.
        common: What the keys of all parts contain besides their own inputs.
        again: Report a miss for every part.

    Attributes:
        keys: Keys of the records of all parts that were fetched or kept.
    """

    def __init__(self, store: Store, common: Mapping[str, Any], again: bool = False) -> None:
        self._store, self._common, self._again = store, common, again
        self.keys: set[str] = set()

    def fetch(self, inputs: Mapping[str, Any], path: Path) -> bool:
        """Create `path` as a link to the part with these inputs; return False if no intact one is stored.

        Raises:
            BuildError: The path cannot be written.
        """
        key = digest(self._derivation(inputs))
        record = None if self._again else self._find(key)
        if record is None:
            return False
        with translate_write_errors(path):
            try:
                durable.link(self._store.object(record.sha256(_FILE)), path)
            except FileNotFoundError:  # collected meanwhile
                return False
        self.keys.add(key)
        count(record.derivation.get("code", {}), record.derivation.get("files", ()))
        return True

    def keep(self, inputs: Mapping[str, Any], path: Path, seconds: float) -> None:
        """Store the part in `path`, a file on the store's file system that is complete.

        Args:
            inputs: Its inputs.
            path: The file.
            seconds: How long it took to build.

        Raises:
            BuildError: The store cannot be written.
        """
        with TemporaryDirectory(dir=path.parent, prefix=".part-") as folder:
            with translate_write_errors(path):
                durable.link(path, Path(folder, _FILE))
            record = self._store.publish(
                _KIND, self._derivation(inputs), Path(folder), [_FILE], seconds, seconds
            )
        self.keys.add(record.key)

    def _derivation(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the derivation of a part: the common inputs, and those of its own."""
        return {"part": _KIND, **self._common, **inputs}

    def _find(self, key: str) -> StageRecord | None:
        """Return the record of an intact part, copied from the cache if need be; None if there is none."""
        record = self._store.record(key)
        if record is not None and all(self._store.holds(o) for o in record.outputs):
            return record
        if self._store.cache is None:
            return None
        with self._store.lock(key):
            record = self._store.cache.record(key, [_FILE])
            return record if record is not None and self._store.fetch(record, key) else None


def read_part_keys(store: Store, record: StageRecord) -> set[str]:
    """Return the keys of the parts that a stage listed; an empty set if its list is lost."""
    for output in record.outputs:
        if output.file == PARTS and store.holds(output):
            return set(json.loads(store.object(output.sha256).read_text(encoding="utf-8")))
    return set()


def parts_store(store: Store) -> Store:
    """Return the store of parts inside a store: a folder of its own, which stages may open."""
    return Store(store.root / "parts", store.paranoid)
