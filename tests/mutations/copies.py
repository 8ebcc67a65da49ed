"""Copies of the package, each in a repository of its own, and the processes that build in them."""

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
    """Repository with recipes, a copy of the package, artifacts and the outcome of its job."""

    root: Path

    @classmethod
    def of(cls, root: Path, write_recipes: Callable[[Path], object]) -> Copy:
        """Create a copy. write_recipes: creates and fills the folder of recipes."""
        write_recipes(root / "recipes")
        shutil.copytree(
            REPOSITORY / "kokoro_tvm",
            root / "package/kokoro_tvm",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        return cls(root)

    def job(self, recipe: str, stages: Sequence[str], after: Path | None = None) -> dict[str, Any]:
        """Return a job for worker.py. after: repository whose artifacts it starts from."""
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
        """Read the outcome of the job (see worker.py)."""
        outcome: dict[str, str] = json.loads((self.root / "outcome.json").read_text(encoding="utf-8"))
        return outcome


def run_batches(batches: Sequence[Sequence[dict[str, Any]]], root: Path) -> None:
    """Run batches of jobs one after another, and the jobs of a batch in parallel."""
    path = root / "batches.json"
    path.write_text(json.dumps(batches), encoding="utf-8")
    process = subprocess.run(
        [sys.executable, str(_WORKER), str(path)],
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
