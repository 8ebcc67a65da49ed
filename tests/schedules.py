"""Write schedules for tests, as people would: JSON files beside the recipes."""

from __future__ import annotations

from pathlib import Path

from kokoro_tvm.recipe import Schedule

__all__ = ["write_schedule"]


def write_schedule(recipes: Path, name: str, schedule: Schedule) -> Path:
    """Write a schedule to the folder of recipes and return its path."""
    path = recipes / "schedules" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(schedule.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return path
