"""Copies of the package, each in a repository of its own, and the processes that build there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toys import REPOSITORY

__all__ = ["Copy", "run_batches"]

_WORKER = Path(__file__).with_name("worker.py")


@dataclass(frozen=True)
class Copy:
    """A repository of its own: recipes, a copy of the package, what it builds, what became of that."""

    root: Path

    @classmethod
    def of(cls, root: Path, write_recipes: Callable[[Path], object]) -> Copy:
        """write_recipes: fills the folder `recipes`, which it makes."""
        write_recipes(root / "recipes")
        shutil.copytree(
            REPOSITORY / "kokoro_tvm",
            root / "package/kokoro_tvm",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        return cls(root)

    def job(self, recipe: str, stages: Sequence[str], after: Path | None = None) -> dict[str, Any]:
        """What worker.py takes; after: the repository whose artifacts to begin with."""
        return {
            "package": str(self.root / "package"),
            "root": str(self.root),
            "recipe": recipe,
            "stages": list(stages),
            "artifacts": None if after is None else str(after / "artifacts"),
            "log": str(self.root / "log"),
            "outcome": str(self.root / "outcome.json"),
        }

    def outcome(self) -> dict[str, str]:
        found: dict[str, str] = json.loads((self.root / "outcome.json").read_text(encoding="utf-8"))
        return found


def run_batches(batches: Sequence[Sequence[dict[str, Any]]], root: Path) -> None:
    """Runs the jobs of a batch side by side, one batch after another; each copy then has its outcome."""
    path = root / "batches.json"
    path.write_text(json.dumps(batches), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(_WORKER), str(path)],
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
