"""Compares two recipes or bundles: values, stages, toolchain, files and measurements."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kokoro_tvm.builder.diagnostics.causes import find_cause
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.state import changes
from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.common.words import round_number
from kokoro_tvm.runtime.bundle.provenance import FILE as PROVENANCE
from kokoro_tvm.runtime.bundle.provenance import read_provenance
from kokoro_tvm.validation.report.facts import Cell, worst

_NOT_IN_BUNDLES = ("name", "schedules")
_REPORTS = ("validation", "speech", "phonemes", "throughput", "intelligibility")
_OUTCOME = ("passed", "missed", "utterances", "overall")  # the other keys of a report are measurements


@dataclass(frozen=True)
class ValueDifference:
    """A value that differs: its name, and both values ("" if there is none)."""

    what: str
    before: str
    now: str


@dataclass(frozen=True)
class Side:
    """A recipe or a bundle.

    Attributes:
        name: Of the recipe, or the bundle's folder.
        recipe: The resolved recipe, or the part of it that the bundle's provenance has.
        bundle: Folder of the bundle; None if the recipe is not built.
        stages: Stages of the recipe, by name without the recipe's; empty for a bundle.
    """

    name: str
    recipe: Mapping[str, Any]
    bundle: Path | None = None
    stages: Mapping[str, Stage] = field(default_factory=dict)

    @classmethod
    def of_recipe(cls, graph: RecipeGraph) -> Side:
        """Return a recipe of the project, with its bundle if it is built."""
        owner = f"{graph.recipe.name}."
        stages = {stage.name.removeprefix(owner): stage for stage in graph.stages()}
        is_built = (graph.bundle_folder / "bundle.json").is_file()
        dump = graph.recipe.model_dump(mode="json")
        return cls(graph.recipe.name, dump, graph.bundle_folder if is_built else None, stages)

    @classmethod
    def of_bundle(cls, folder: Path) -> Side:
        """Return a bundle alone, whichever build it is of.

        Raises:
            BundleError: The folder is not a bundle.
        """
        path = folder / PROVENANCE
        if not path.is_file():
            raise BundleError(
                f"{path} cannot be read: there is none. Name a recipe, or the folder of a bundle."
            )
        return cls(str(folder), read_provenance(path).recipe, folder)

    def toolchain(self) -> dict[str, str]:
        """Return the versions of the packages and programs that built the bundle; {} if there is none."""
        if self.bundle is None:
            return {}
        provenance = read_provenance(self.bundle / PROVENANCE)
        packages = {name: url for name, url in provenance.dependencies.items() if url.startswith("pkg:")}
        return {name: url.rpartition("@")[2] for name, url in packages.items()} | provenance.tools

    def files(self) -> dict[str, str]:
        """Return the size and the first digits of the digest of every file of the bundle; {} without one."""
        if self.bundle is None:
            return {}
        subjects = dict(read_provenance(self.bundle / PROVENANCE).subjects)
        del subjects["bundle.json"]  # it lists the others
        sizes = {name: (self.bundle / name).stat().st_size for name in subjects}
        return {name: f"{sizes[name]:,} bytes, {digest[:12]}" for name, digest in subjects.items()}

    def measurements(self) -> dict[str, Any]:
        """Return the worst value of every gate, and the other numbers, of the reports beside the bundle."""
        if self.bundle is None:
            return {}
        reports = (self.bundle.parent / ".build" / self.bundle.name).glob("*/*.json")
        return {path.parent.name: _measurements(path) for path in sorted(reports) if path.stem in _REPORTS}


def diff(before: Side, now: Side) -> dict[str, list[ValueDifference]]:
    """Return every difference by section. What only one side knows is left out."""
    both = before.recipe.keys() & now.recipe.keys() - {*_NOT_IN_BUNDLES}
    recipes = ({key: side.recipe[key] for key in both} for side in (before, now))
    return {
        "recipe": list(_compare(*recipes)),
        "stages": list(_compare_stages(before, now)),
        "toolchain": list(_compare(before.toolchain(), now.toolchain())),
        "files": list(_compare(before.files(), now.files())),
        "measured": list(_compare(before.measurements(), now.measurements())),
    }


def _compare(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[ValueDifference]:
    for change in changes(before, now):
        old, new = ((value or "").strip('"') for value in (change.old, change.new))
        yield ValueDifference(change.name, old, new)


def _compare_stages(before: Side, now: Side) -> Iterator[ValueDifference]:
    """Yield the stages that only one side has, and the causes of different keys. Unbuilt stages have none."""
    if not (before.stages and now.stages):
        return
    for name in dict.fromkeys((*before.stages, *now.stages)):
        old, new = before.stages.get(name), now.stages.get(name)
        if old is None or new is None:
            yield ValueDifference(name, "a stage" if old else "", "a stage" if new else "")
            continue
        first, second = old.previous(), new.previous()
        if first is None or second is None or first.key == second.key:
            continue
        for change in changes(first.derivation, second.derivation):
            why = find_cause(new, change)
            yield ValueDifference(f"{name}: {why.what}", why.before, why.now)


def _measurements(path: Path) -> dict[str, Any]:
    """Return the measurements of one report. Raises BundleError if it cannot be read."""
    try:
        report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BundleError(
            f"{path} cannot be read: {error}. Name a recipe, or the folder of a bundle."
        ) from error
    if not {"utterances", "overall"} <= report.keys():  # a report without verdicts, or of an older version
        return {name: value for name, value in report.items() if name not in _OUTCOME}
    cells = worst(report)
    return {f"{cell.output} {cell.gate}".strip(): _describe(cell) for cell in cells}


def _describe(cell: Cell) -> str:
    """Return a measurement and its limit: `91.4 dB (≥ 88 dB)`."""
    unit = " dB" if cell.gate.endswith("_db") else ""
    sign = "≤" if cell.gate.startswith("max_") else "≥"
    value, limit = (x if isinstance(x, str | None) else round_number(x) for x in (cell.value, cell.limit))
    return f"{value}{unit} ({'no limit' if limit is None else f'{sign} {limit}{unit}'})"
