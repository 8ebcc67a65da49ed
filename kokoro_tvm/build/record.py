"""The record of a finished stage: what went in, what came out. It is written last, so it is the commit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kokoro_tvm.build.digest import digest, file_sha256

__all__ = ["Output", "Record", "read_record"]


@dataclass(frozen=True)
class Output:
    """One file a stage wrote, relative to the stage's folder."""

    file: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Record:
    """ingredients: everything the stage depends on; outputs: every file it wrote; seconds: how long it took;
    cpu_seconds: how long its process computed, which does not depend on what else the machine did."""

    stage: str
    ingredients: Mapping[str, Any]
    outputs: tuple[Output, ...]
    seconds: float
    cpu_seconds: float

    @property
    def digest(self) -> str:
        return digest(self.ingredients)

    def sha256(self, file: str) -> str:
        """Digest of one output."""
        return next(o.sha256 for o in self.outputs if o.file == file)

    def is_current(self, ingredients: Mapping[str, Any], folder: Path) -> bool:
        """Whether the same would be built again and all of it is still there, byte for byte."""
        return digest(ingredients) == self.digest and all(_intact(folder / o.file, o) for o in self.outputs)

    def write(self, path: Path) -> None:
        """Writes the record, whole or not at all."""
        partial = path.with_name(f".{path.name}.partial")
        text = json.dumps(asdict(self), indent=1, sort_keys=True, ensure_ascii=False)
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)

    @classmethod
    def of(
        cls,
        stage: str,
        ingredients: Mapping[str, Any],
        folder: Path,
        files: list[str],
        seconds: float,
        cpu: float,
    ) -> Record:
        """The record of outputs that were just written."""
        outputs = tuple(Output(f, (folder / f).stat().st_size, file_sha256(folder / f)) for f in files)
        return cls(stage, ingredients, outputs, round(seconds, 3), round(cpu, 3))


def read_record(path: Path) -> Record | None:
    """The record at `path`; None where there is none that can be read, which means: build it."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return Record(**told | {"outputs": tuple(Output(**o) for o in told["outputs"])})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _intact(path: Path, output: Output) -> bool:
    return path.is_file() and path.stat().st_size == output.size and file_sha256(path) == output.sha256
