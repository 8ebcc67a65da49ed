"""Reports the state, size and gates of everything that a recipe builds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.state import State
from kokoro_tvm.builder.graph import RecipeGraph

_SEVERITY = ("failed", "damaged", "missing", "stale", "current")


@dataclass(frozen=True)
class StatusRow:
    """One thing that is built, by the name that commands take.

    Attributes:
        name: The name.
        state: The most severe state of its stages.
        stages: Names of the stages in that state; empty if all are current.
        size: Bytes of its outputs at the last build; None if it was never built.
        gates: The verdict of its gates in words; "" if it has none.
        problem: What prevents one of its stages from running here, such as a missing tool, or "".
    """

    name: str
    state: str
    stages: tuple[str, ...]
    size: int | None
    gates: str
    problem: str = ""


def collect_status(graph: RecipeGraph) -> list[StatusRow]:
    """Return a row for each of the model's stages, each artifact, each gate, and the bundle.

    The row of the bundle has every stage of the recipe that no other row has.
    """
    stages = {stage.name: stage for stage in graph.stages()}
    states = {name: stage.state() for name, stage in stages.items()}
    name = graph.recipe.name
    model = (graph.checkpoint, graph.reference, graph.front_end)
    rows = [_row(stage.name, [stage], stage, states) for stage in model if stage is not None]
    shown = {row.name for row in rows}
    for spec in graph.recipe.artifacts():
        product, judge = graph.compile(spec), graph.validate(spec)
        chain = [graph.machine_of(spec.component), graph.export(spec), graph.lower(spec), product]
        chain += [s for s in (graph.assemble(spec), graph.pack(spec.component), judge) if s is not None]
        shown |= {stage.name for stage in chain}
        rows.append(_row(f"{name}/{spec.id}", chain, product, states, judge))
    for kind in ("phonemes", "throughput", "intelligibility"):
        if gate := stages.get(f"{name}.{kind}"):  # only some recipes have it
            shown.add(gate.name)
            rows.append(_row(gate.name, [gate], gate, states, gate))
    rest = [stage for stage in stages.values() if stage.name not in shown]
    return [*rows, _row(name, rest, graph.bundle, states, graph.speech)]


def _row(
    name: str, chain: Sequence[Stage], product: Stage, states: Mapping[str, State], judge: Stage | None = None
) -> StatusRow:
    """Return the row of a chain of stages: `product` has its size, `judge` its gates."""
    kinds = {stage.name: states[stage.name].kind for stage in chain}
    worst = min(kinds.values(), key=_SEVERITY.index)
    record = product.previous()
    return StatusRow(
        name,
        worst,
        () if worst == "current" else tuple(stage for stage, kind in kinds.items() if kind == worst),
        record.size if record else None,
        _gates(judge, states[judge.name].kind) if judge else "",
        next((states[stage.name].problem for stage in chain if states[stage.name].problem), ""),
    )


def _gates(judge: Stage, kind: str) -> str:
    """Return the verdict of a stage's report, or that of its last failed run, in words."""
    (file,) = judge.outputs
    try:
        failed, report = _read_report(judge.failed_path / file), _read_report(judge.path(file))
    except ValueError:
        return f"{file} is damaged"
    if failed is not None and kind == "failed":
        return _missed(failed)
    if report is None:
        return "not run"
    verdict = "passed" if report["passed"] else _missed(report)
    if not report["enforce"]:
        verdict += " (reported only)"
    return verdict if kind == "current" else f"{verdict}, before"


def _missed(report: Mapping[str, Any]) -> str:
    first, *others = report["missed"]
    return f"missed {first}" + (f" and {len(others)} more" if others else "")


def _read_report(path: Path) -> dict[str, Any] | None:
    """Return a report, or None if there is no file. Raise ValueError if it is not a report."""
    try:
        report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    if not isinstance(report, dict) or not {"passed", "enforce", "missed"} <= report.keys():
        raise ValueError(f"{path} is not a report")
    return report
