"""Judges whether a machine has what a build needs, and says what to do."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from packaging.specifiers import SpecifierSet
from rich.filesize import decimal

from kokoro_tvm.diagnostics.machine import Facts, Language, Pin, RecipeNeeds, Tool
from kokoro_tvm.words import as_typed

__all__ = ["Finding", "Verdict", "examine"]

Verdict = Literal["fine", "note", "wrong"]

# Measured on a build of the recipe `cpu` from nothing: 0.76 GB stay in artifacts/, as much again lies there
# while the weights are fetched; the stock model in float64 takes 3.3 GB for the longest utterance, 1.9 GB for
# those beside it, and compiling 1 GB.
BUILD_DISK = 1_500_000_000
BUILD_MEMORY = 6_500_000_000
# Of all CPU features, those that decide how fast speech is and which recipes run.
_SHOWN_FEATURES = (
    *("avx2", "fma", "avx512f", "avx512bf16", "amx-bf16"),
    *("neon", "dotprod", "i8mm", "bf16", "sve"),
)


@dataclass(frozen=True)
class Finding:
    """The result of one check. remedy: what to do if it is not fine. A note does not stop a build."""

    about: str
    verdict: Verdict
    message: str
    remedy: str | None = None


def examine(facts: Facts) -> list[Finding]:
    """Every finding, in the order to fix them."""
    return [
        _python(facts),
        *_packages(facts.pins),
        _compiler(facts),
        _linker(facts),
        *map(_tool, facts.tools),
        _processor(facts),
        *_languages(facts.languages),
        *(_recipe(recipe, facts) for recipe in facts.recipes),
        _memory(facts),
        *_disk(facts),
        _cache(facts),
        *_checkpoints(facts),
    ]


def _python(facts: Facts) -> Finding:
    text = f"{facts.python} (wanted {facts.wanted_python})"
    if SpecifierSet(facts.wanted_python).contains(facts.python):
        return Finding("Python", "fine", text)
    return Finding("Python", "wrong", text, "create the environment again: python3.12 -m venv .venv")


def _packages(pins: tuple[Pin, ...]) -> Iterator[Finding]:
    """One finding for the packages that every build needs, and one for each extra."""
    for extra in dict.fromkeys(pin.extra for pin in pins):
        mine = [pin for pin in pins if pin.extra == extra]
        missing = [pin for pin in mine if pin.installed is None]
        other = [pin for pin in mine if pin.installed is not None and not pin.is_met]
        text = [f"{p.name} is {p.installed}, not {p.requirement.partition('==')[2]}" for p in other]
        text += [f"{p.name} is not installed" for p in missing]
        about = f"packages [{extra}]" if extra else "packages"
        if not text:
            yield Finding(about, "fine", f"all {len(mine)} as pinned")
            continue
        what = f".[{extra or 'build'}]"
        remedy = f"{_python_here()} -m pip install -e {shlex.quote(what)}"
        if extra and len(missing) == len(mine):
            text = ["not installed; only this extra needs them"]
        yield Finding(about, "note" if extra else "wrong", "; ".join(text), remedy)


def _compiler(facts: Facts) -> Finding:
    if facts.compiler_problem is None:
        return Finding("compiler", "fine", facts.compiler)
    remedy = f"see why: {_python_here()} -c 'import tvm'"
    return Finding("compiler", "wrong", f"TVM {facts.compiler_problem}", remedy)


def _linker(facts: Facts) -> Finding:
    if facts.linker_problem is None:
        return Finding("linker", "fine", facts.linker)
    return Finding("linker", "wrong", facts.linker_problem, "Debian: apt-get install g++")


def _tool(tool: Tool) -> Finding:
    names = ", ".join(tool.recipes)
    if tool.problem is None:
        return Finding(tool.about, "fine", f"{tool.found}, for {names}")
    return Finding(tool.about, "note", f"{tool.problem} For {names}")


def _processor(facts: Facts) -> Finding:
    cores = "1 core" if facts.cores == 1 else f"{facts.cores} cores"
    text = f"{facts.machine}, {cores} to use"
    if facts.features is None:
        return Finding(
            "processor",
            "note",
            f"{text}; its features are unknown, because only Linux lists them",
        )
    had = [name for name in _SHOWN_FEATURES if name in facts.features]
    return Finding("processor", "fine", f"{text}, {', '.join(had) or 'no vector features'}")


def _languages(languages: tuple[Language, ...]) -> Iterator[Finding]:
    """One finding for the languages that the same packages speak."""
    for speaker in dict.fromkeys(language.speaker for language in languages):
        same = [language for language in languages if language.speaker == speaker]
        names = ", ".join(language.name for language in same)
        if same[0].missing:
            text = f"cannot be spoken, because {speaker} is missing ({', '.join(same[0].missing)}): {names}"
            yield Finding("languages", "note", text, same[0].remedy)
        else:
            yield Finding("languages", "fine", f"by {speaker}: {names}")


def _recipe(recipe: RecipeNeeds, facts: Facts) -> Finding:
    about, features = f"recipe {recipe.name}", facts.features
    if recipe.problem is not None:
        return Finding(about, "note", f"cannot be built here: {recipe.problem}")
    if missing := _missing(recipe, facts):
        text = f"cannot be built here, for want of its {' and its '.join(missing)}: see above"
        return Finding(about, "note", text)
    if recipe.elsewhere:
        return Finding(about, "fine", f"can be built here and {recipe.elsewhere}")
    lacking = [name for name in recipe.features if features is not None and name not in features]
    if lacking:
        text = f"can be built here, but not run: this processor has no {', '.join(lacking)}"
        return Finding(about, "note", text)
    if features is None:
        return Finding(about, "note", "can be built here; whether it runs is unknown")
    return Finding(about, "fine", "can be built here and runs here")


def _missing(recipe: RecipeNeeds, facts: Facts) -> list[str]:
    """What of the programs that the recipe's stages call does not work."""
    own = [tool for tool in facts.tools if recipe.name in tool.recipes]
    missing = [tool.about for tool in own if tool.problem is not None]
    if facts.linker_problem is not None and all(tool.about != "linker" for tool in own):
        missing.insert(0, "linker")
    return missing


def _memory(facts: Facts) -> Finding:
    if facts.memory is None:
        return Finding("memory", "note", "how much is free is unknown, because only Linux reports it")
    text = f"{decimal(facts.memory)} free; a build takes up to {decimal(BUILD_MEMORY)}"
    if facts.memory >= BUILD_MEMORY:
        return Finding("memory", "fine", text)
    return Finding("memory", "wrong", text, "close other programs, or add swap")


def _disk(facts: Facts) -> Iterator[Finding]:
    if facts.artifacts_problem is not None:
        text = f"{facts.artifacts} cannot be written: {facts.artifacts_problem}"
        yield Finding("artifacts", "wrong", text, "make it writable, or build elsewhere with --root")
    text = f"{decimal(facts.disk)} free below {facts.artifacts}; a build takes {decimal(BUILD_DISK)}"
    if facts.disk >= BUILD_DISK:
        yield Finding("disk", "fine", text)
    else:
        yield Finding(
            "disk", "wrong", text, "free some space: kokoro-tvm gc --keep 1, or delete artifacts/peers"
        )


def _cache(facts: Facts) -> Finding:
    if facts.cache_problem is not None:
        # A wrong setting fails a build; a cache that fails is not used.
        verdict: Verdict = "note" if facts.cache else "wrong"
        return Finding("cache", verdict, facts.cache_problem, "correct KOKORO_TVM_CACHE, or unset it")
    return Finding("cache", "fine", facts.cache or "no shared cache (set KOKORO_TVM_CACHE to use one)")


def _checkpoints(facts: Facts) -> Iterator[Finding]:
    for model, sources in facts.checkpoints.items():
        about = f"model {model}"
        if sources is None:
            yield Finding(about, "fine", "its weights are fetched")
            continue
        answering = next((s.source for s in sources if s.problem is None), None)
        failing = "; ".join(f"{s.source}: {s.problem}" for s in sources if s.problem is not None)
        if answering is not None:
            text = f"its weights are not fetched yet; the first build fetches them from {answering}"
            yield Finding(about, "fine", f"{text} ({failing})" if failing else text)
        else:
            text = f"its weights are not fetched yet, and none of their sources can be reached ({failing})"
            yield Finding(about, "note", text, "connect to the network, or see docs/troubleshooting.md")


def _python_here() -> Path:
    return as_typed(Path(sys.executable))
