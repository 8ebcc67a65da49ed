"""The ingredients of a stage in the words of whoever changes them: a file, a package, a field of a recipe."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from kokoro_tvm.build.stage import Stage
from kokoro_tvm.build.state import Change

__all__ = ["Cause", "cause"]

_DIGITS = 12  # of a sha256: as many as anybody compares
_SHA256 = re.compile(r'"([0-9a-f]{64})"')
# Where an ingredient of an artifact's stage stands in a recipe; {component} is the artifact's.
_FIELDS = (
    ("artifact.patches", "components.{component}.patches"),
    ("artifact.length", "length"),
    ("lowering.passes", "passes"),
    ("lowering.pass_context", "pass_context"),
    ("lowering.schedule", "schedules/{recipe}.json: {component}"),
    ("lowering.manifest.project", "kokoro-tvm"),
    ("lowering.manifest", ""),
    ("provenance.recipe", ""),
    ("recipe", ""),
)
_AS_THEY_ARE = ("target", "precision", "gates", "utterances", "checkpoint")


@dataclass(frozen=True)
class Cause:
    """What changed: a `source` file, the `version` of a package, a recipe's `field`, an `input` that another
    stage wrote, the `machine`, or something else of the `build`; with both values, "" where there is none."""

    kind: str
    what: str
    before: str
    now: str

    def __str__(self) -> str:
        if not self.before or not self.now:
            return f"{self.what}: {'new' if self.now else 'gone'}, {self.now or self.before}"
        return f"{self.what}: {self.before} → {self.now}"


def cause(stage: Stage, change: Change) -> Cause:
    """The change of one of a stage's ingredients, told."""
    kind, what = _named(stage, change)
    if change.ingredient == "cpu.flags":
        return Cause(kind, what, *_differing_words(change))
    return Cause(kind, what, _shown(change.old), _shown(change.new))


def _named(stage: Stage, change: Change) -> tuple[str, str]:
    name = change.ingredient
    head, _, rest = name.partition(".")
    recipe, function, *artifact = stage.name.split(".")
    if head == "code":
        return "source", f"kokoro_tvm/build/stages.py, {function}"
    if head == "sources":
        return "source", f"{rest.replace('.', '/')}.py"
    if head == "versions":
        return "version", rest
    if head == "project":
        return "version", "kokoro-tvm"
    if head == "linker":
        return "version", "linker"
    if head == "cpu":
        return "machine", f"this machine's CPU, {rest}" if rest else "this machine's CPU"
    written = _written(stage, change.new)
    if written:
        return "input", written
    component = artifact[0].rpartition("-")[0] if artifact else ""
    for prefix, field in _FIELDS:
        if name == prefix or name.startswith(f"{prefix}."):
            told = field.format(component=component, recipe=recipe) + name.removeprefix(prefix)
            return "version" if told == "kokoro-tvm" else "field", _indexed(told.lstrip("."))
    if head in _AS_THEY_ARE and not _SHA256.fullmatch(change.new or change.old or ""):
        return "field", _indexed(name)
    return "build", name


def _written(stage: Stage, sha256: str | None) -> str | None:
    """Which output of which stage before this one holds that."""
    found = _SHA256.fullmatch(sha256 or "")
    for before in stage.after if found else ():
        record = before.previous()
        for output in record.outputs if record else ():
            if found and output.sha256 == found[1]:
                return f"{output.file} of {before.name}"
    return None


def _indexed(name: str) -> str:
    """gates.x.0.y as gates.x[0].y"""
    return re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", name)


def _shown(value: str | None) -> str:
    if value is None:
        return ""
    if found := _SHA256.fullmatch(value):
        return found[1][:_DIGITS]
    told = json.loads(value)
    return told if isinstance(told, str) and told else value


def _differing_words(change: Change) -> tuple[str, str]:
    """What is only in the one, and only in the other: flags are many, and most stay."""
    old, new = (set(json.loads(value or '""').split()) for value in (change.old, change.new))
    less, more = " ".join(sorted(old - new)), " ".join(sorted(new - old))
    return (f"-{less}" if less else "…"), (f"+{more}" if more else "…")
