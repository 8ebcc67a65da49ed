"""Names the changed parts of a derivation: a file, a package, a field of a recipe."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from kokoro_tvm.builder.engine.code import path_of
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.state import Change

__all__ = ["Cause", "cause"]

_DIGITS = 12  # of a sha256: as many as anybody compares
_DIGEST = re.compile(r'"([0-9a-f]{32}|[0-9a-f]{64})"')
_VERSIONS = {"project": "kokoro-tvm", "linker": "linker", "runner": "runner", "llvm": "llvm"}


@dataclass(frozen=True)
class Cause:
    """What changed: a `source` file, the `version` of a package, a recipe's `field`, an `input` that another
    stage wrote, the `machine`, or something else of the `build`; with both values, "" where there is none."""

    kind: str
    what: str
    before: str
    now: str

    @property
    def weight(self) -> int:
        """How likely it is a consequence of others: code that is counted for the first time, say."""
        if not self.before or not self.now:
            return 3
        return {"input": 1, "build": 2}.get(self.kind, 0)

    def __str__(self) -> str:
        if not self.before or not self.now:
            return f"{self.what}: {'new' if self.now else 'gone'}, {self.now or self.before}"
        return f"{self.what}: {self.before} → {self.now}"


def cause(stage: Stage, change: Change) -> Cause:
    """What a change of one part of the stage's derivation is, and both values, shortened."""
    kind, what = _named(stage, change.name)
    if change.name == "cpu.flags":
        return Cause(kind, what, *_differing_words(change))
    return Cause(kind, what, _shown(change.old), _shown(change.new))


def _named(stage: Stage, name: str) -> tuple[str, str]:
    head, _, rest = name.partition(".")
    if head == "conversion":
        head, _, rest = rest.partition(".")
    if head == "code" and rest:
        module, _, part = rest.partition(":")
        path = path_of(module)
        package = path is not None and path.name == "__init__.py"
        file = f"{module.replace('.', '/')}{'/__init__' if package else ''}.py"
        return "source", f"{file}, {part or 'outside of functions'}"
    if head == "files" and rest:
        return "source", f"kokoro_tvm/{rest}"
    if head == "versions":
        return "version", rest
    if head == "schema":
        return "version", "the schema of keys"
    if head in _VERSIONS:
        return "version", _VERSIONS[head]
    if head == "cpu":
        return "machine", f"this machine's CPU, {rest}" if rest else "this machine's CPU"
    if head == "inputs" and rest in stage.inputs:
        before, file = stage.inputs[rest]
        return "input", f"{file} of {before.name}"
    if head == "schedule":
        return "field", f"schedules/: {stage.name.split('.')[2].partition('-')[0]}, {rest}"
    if head == "yields":
        return "field", _indexed(f"{stage.kind}.{rest}")
    if head == "gates":
        return "field", _indexed(name)
    if head == "parameters" and rest:
        return "field", _indexed(_field(stage, rest))
    return "build", name


def _field(stage: Stage, parameter: str) -> str:
    """Where a parameter of a stage stands in its recipe: mostly it is called the same there."""
    head, _, rest = parameter.partition(".")
    if head == "patches":
        component = stage.name.split(".")[2].partition("-")[0]
        return f"components.{component}.{parameter}"
    return rest if head == "recipe" else parameter


def _indexed(name: str) -> str:
    """gates.x.0.y as gates.x[0].y"""
    return re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", name)


def _shown(value: str | None) -> str:
    if value is None:
        return ""
    if found := _DIGEST.fullmatch(value):
        return found[1][:_DIGITS]
    text = json.loads(value)
    return text if isinstance(text, str) and text else value


def _differing_words(change: Change) -> tuple[str, str]:
    """What is only in the one, and only in the other: flags are many, and most stay."""
    old, new = (set(json.loads(value or '""').split()) for value in (change.old, change.new))
    less, more = " ".join(sorted(old - new)), " ".join(sorted(new - old))
    return (f"-{less}" if less else "…"), (f"+{more}" if more else "…")
