"""Judges a machine: what is fine, what is not, and what to do about it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from packaging.specifiers import SpecifierSet

from kokoro_tvm.build.units import shown_bytes
from kokoro_tvm.telling.machine import Facts, Pin, RecipeNeeds

__all__ = ["Finding", "Verdict", "examine"]

Verdict = Literal["fine", "note", "wrong"]

# Measured on a build of the recipe `cpu` from nothing: 0.76 GB stay in artifacts/, as much again lies there
# while the weights are fetched; and the stock model in float64, on the longest utterance, takes 4.9 GB.
BUILD_DISK = 1_500_000_000
BUILD_MEMORY = 5_000_000_000
# Of all CPU features, those that decide how fast speech is and which recipes run.
_TOLD = ("avx2", "fma", "avx512f", "avx512bf16", "neon", "dotprod", "i8mm", "bf16", "sve")


@dataclass(frozen=True)
class Finding:
    """About one thing; `remedy` says what to do where it is not fine. A note is nothing a build needs."""

    about: str
    verdict: Verdict
    told: str
    remedy: str | None = None


def examine(facts: Facts) -> list[Finding]:
    """Every finding, in the order they are best mended."""
    return [
        _python(facts),
        *_packages(facts.pins),
        _compiler(facts),
        _linker(facts),
        _processor(facts),
        *(_recipe(recipe, facts.features) for recipe in facts.recipes),
        _memory(facts),
        *_disk(facts),
        _cache(facts),
        *_checkpoints(facts),
    ]


def _python(facts: Facts) -> Finding:
    told = f"{facts.python} (wanted {facts.wanted_python})"
    if SpecifierSet(facts.wanted_python).contains(facts.python):
        return Finding("Python", "fine", told)
    return Finding("Python", "wrong", told, "make the environment again: python3.11 -m venv .venv")


def _packages(pins: tuple[Pin, ...]) -> Iterator[Finding]:
    """What everything needs in one finding, and every optional part in one."""
    for extra in dict.fromkeys(pin.extra for pin in pins):
        mine = [pin for pin in pins if pin.extra == extra]
        missing = [pin for pin in mine if pin.installed is None]
        other = [pin for pin in mine if pin.installed is not None and not pin.is_met]
        told = [f"{p.name} is {p.installed}, not {p.requirement.partition('==')[2]}" for p in other]
        told += [f"{p.name} is not installed" for p in missing]
        about = f"packages [{extra}]" if extra else "packages"
        if not told:
            yield Finding(about, "fine", f"all {len(mine)} as pinned")
            continue
        what = f".[{extra}]" if extra else "."
        remedy = f"{_python_here()} -m pip install -e {shlex.quote(what)}"
        if extra and len(missing) == len(mine):
            told = ["not installed, and needed for that part alone"]
        yield Finding(about, "note" if extra else "wrong", "; ".join(told), remedy)


def _compiler(facts: Facts) -> Finding:
    if facts.compiler_problem is None:
        return Finding("compiler", "fine", facts.compiler)
    remedy = f"see why: {_python_here()} -c 'import tvm'"
    return Finding("compiler", "wrong", f"TVM {facts.compiler_problem}", remedy)


def _linker(facts: Facts) -> Finding:
    if facts.linker_problem is None:
        return Finding("linker", "fine", facts.linker)
    return Finding("linker", "wrong", facts.linker_problem, "Debian: apt-get install g++")


def _processor(facts: Facts) -> Finding:
    cores = "1 core" if facts.cores == 1 else f"{facts.cores} cores"
    told = f"{facts.machine}, {cores} to use"
    if facts.features is None:
        return Finding("processor", "note", f"{told}; its features are known on Linux alone")
    had = [name for name in _TOLD if name in facts.features]
    return Finding("processor", "fine", f"{told}, {', '.join(had) or 'no vector features'}")


def _recipe(recipe: RecipeNeeds, features: frozenset[str] | None) -> Finding:
    about = f"recipe {recipe.name}"
    if recipe.problem is not None:
        return Finding(about, "note", f"cannot be built here: {recipe.problem}")
    lacking = [name for name in recipe.features if features is not None and name not in features]
    if lacking:
        told = f"can be built here, and runs elsewhere: this processor has no {', '.join(lacking)}"
        return Finding(about, "note", told)
    if features is None:
        return Finding(about, "note", "can be built here; whether it runs is not known")
    return Finding(about, "fine", "can be built here and runs here")


def _memory(facts: Facts) -> Finding:
    if facts.memory is None:
        return Finding("memory", "note", "how much is free is known on Linux alone")
    told = f"{shown_bytes(facts.memory)} free; a build takes up to {shown_bytes(BUILD_MEMORY)}"
    if facts.memory >= BUILD_MEMORY:
        return Finding("memory", "fine", told)
    return Finding("memory", "wrong", told, "end other programs, or add swap")


def _disk(facts: Facts) -> Iterator[Finding]:
    if facts.artifacts_problem is not None:
        told = f"{facts.artifacts} cannot be written: {facts.artifacts_problem}"
        yield Finding("artifacts", "wrong", told, "make it writable, or build elsewhere with --root")
    told = f"{shown_bytes(facts.disk)} free below {facts.artifacts}; a build takes {shown_bytes(BUILD_DISK)}"
    if facts.disk >= BUILD_DISK:
        yield Finding("disk", "fine", told)
    else:
        yield Finding("disk", "wrong", told, "free some: kokoro-tvm gc --keep 1, or delete artifacts/peers")


def _cache(facts: Facts) -> Finding:
    if facts.cache_problem is not None:
        # Where the environment makes no sense, a build does not begin; a cache that fails is done without.
        verdict: Verdict = "note" if facts.cache else "wrong"
        return Finding("cache", verdict, facts.cache_problem, "set KOKORO_TVM_CACHE right, or unset it")
    return Finding("cache", "fine", facts.cache or "none that is shared (KOKORO_TVM_CACHE names one)")


def _checkpoints(facts: Facts) -> Iterator[Finding]:
    for model, sources in facts.checkpoints.items():
        about = f"model {model}"
        if sources is None:
            yield Finding(about, "fine", "its weights are here")
            continue
        answering = next((s.source for s in sources if s.problem is None), None)
        failing = "; ".join(f"{s.source}: {s.problem}" for s in sources if s.problem is not None)
        if answering is not None:
            told = f"its weights are not here yet; the first build fetches them from {answering}"
            yield Finding(about, "fine", f"{told} ({failing})" if failing else told)
        else:
            told = f"its weights are not here yet, and no source of theirs can be reached ({failing})"
            yield Finding(about, "note", told, "connect to the network, or see docs/troubleshooting.md")


def _python_here() -> Path:
    """The interpreter, as one would type it from here."""
    path = Path(sys.executable)
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
