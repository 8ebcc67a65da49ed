"""State, size and gates of everything that a recipe builds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.state import State
from kokoro_tvm.builder.graph import RecipeGraph

__all__ = ["StatusRow", "status"]

_GRAVITY = ("failed", "damaged", "missing", "stale", "current")


@dataclass(frozen=True)
class StatusRow:
    """One thing that is built, by the name that commands take.

    state: the gravest of its stages; stages: those that are in it, unless all is current; size: bytes of what
    a build leaves of it, as it was built last, None where it never was; gates: their verdict in words, ""
    where it has none; problem: what keeps one of its stages from running here, such as a missing tool.
    """

    name: str
    state: str
    stages: tuple[str, ...]
    size: int | None
    gates: str
    problem: str = ""


def status(graph: RecipeGraph) -> list[StatusRow]:
    """The model's checkpoint, references and front end, every artifact, the gates on phonemes, on throughput
    and on intelligibility, the bundle with every other stage of the recipe."""
    stages = {stage.name: stage for stage in graph.stages()}
    states = {name: stage.state() for name, stage in stages.items()}
    name = graph.recipe.name
    fetched = (graph.checkpoint, graph.reference, graph.front_end)
    rows = [_row(stage.name, [stage], stage, states) for stage in fetched if stage is not None]
    shown = {row.name for row in rows}
    for spec in graph.recipe.artifacts():
        made, judged = graph.compile(spec), graph.validate(spec)
        chain = [graph.machine_of(spec.component), graph.export(spec), graph.lower(spec), made]
        chain += [s for s in (graph.assemble(spec), graph.pack(spec.component), judged) if s is not None]
        shown |= {stage.name for stage in chain}
        rows.append(_row(f"{name}/{spec.id}", chain, made, states, judged))
    for kind in ("phonemes", "throughput", "intelligibility"):
        # Only where the recipe has what it judges, or a gate for it.
        if found := stages.get(f"{name}.{kind}"):
            shown.add(found.name)
            rows.append(_row(found.name, [found], found, states, found))
    whole = [stage for stage in stages.values() if stage.name not in shown]
    rows.append(_row(name, whole, graph.bundle, states, graph.speech))
    return rows


def _row(
    name: str, chain: Sequence[Stage], made: Stage, every: Mapping[str, State], judged: Stage | None = None
) -> StatusRow:
    states = {stage.name: every[stage.name] for stage in chain}
    kinds = {name: found.kind for name, found in states.items()}
    state = min(kinds.values(), key=_GRAVITY.index)
    record = made.previous()
    return StatusRow(
        name,
        state,
        () if state == "current" else tuple(n for n, kind in kinds.items() if kind == state),
        record.size if record else None,
        _gates(judged, every[judged.name].kind) if judged else "",
        next((found.problem for found in states.values() if found.problem), ""),
    )


def _gates(judged: Stage, kind: str) -> str:
    """The verdict of its report, or of the last failed one."""
    (file,) = judged.outputs
    try:
        failed, report = _report(judged.failed_path / file), _report(judged.path(file))
    except ValueError:
        return f"{file} is damaged"
    if failed is not None and kind == "failed":
        return f"missed {_first(failed['missed'])}"
    if report is None:
        return "not run"
    verdict = "passed" if report["passed"] else f"missed {_first(report['missed'])}"
    if not report["enforce"]:
        verdict += " (reported only)"
    return verdict if kind == "current" else f"{verdict}, before"


def _first(missed: Sequence[str]) -> str:
    more = f" and {len(missed) - 1} more" if len(missed) > 1 else ""
    return f"{missed[0]}{more}"


def _report(path: Path) -> dict[str, Any] | None:
    """A report; None if there is none. Raises ValueError if it is not a report."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    if not isinstance(found, dict) or not {"passed", "enforce", "missed"} <= found.keys():
        raise ValueError(f"{path} is not a report")
    return found
