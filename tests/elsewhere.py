"""Small kernels for the machines of recipes that this one is not: compiled, linked and run as theirs are."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from checkout import RECIPES, graph_of

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.stages import runtime
from kokoro_tvm.compiler.codegen import generate_kernel
from kokoro_tvm.recipe import Recipe, load_recipe
from kokoro_tvm.targets import CompiledLibrary, Machine, PinnedLibrary, find_runner, resolve, tools_for
from kokoro_tvm.targets.runners.served import Serving

__all__ = [
    "OPTIONS",
    "RECIPES",
    "generated_for",
    "library_of",
    "machine_for",
    "obstacle",
    "recipe_of",
    "runner_of",
    "runtime_of",
]

OPTIONS = {"opt_level": 3, "disabled_passes": [], "config": {}}


def recipe_of(name: str) -> Recipe:
    return load_recipe(name, RECIPES)


@cache
def machine_for(name: str) -> Machine:
    """The machine of a recipe."""
    return resolve(recipe_of(name).target)


def runner_of(name: str) -> Serving:
    runner, reason = find_runner(recipe_of(name).target.model_dump(mode="json"))
    assert isinstance(runner, Serving), reason
    return runner


def generated_for(recipe: str, kernel: Any, machine: Machine | None = None, prefix: str = "") -> Any:
    """A kernel's code for a recipe's machine; machine: another one of its platform; prefix: of a system
    library."""
    name = str(kernel.attrs["global_symbol"])
    return generate_kernel(name, kernel, machine or machine_for(recipe), OPTIONS, prefix)


@cache
def obstacle(name: str) -> str | None:
    """Why what the recipe builds cannot be linked or run here."""
    target = recipe_of(name).target
    runner, reason = find_runner(target.model_dump(mode="json"))
    if runner is None:
        return reason
    tools = tools_for(target)
    lacking = tools.list_lacking_features(recipe_of(name).precision)
    libraries = tools.runner_libraries().values()
    compilers = {each.compiler for each in libraries if isinstance(each, CompiledLibrary)}
    problems = [runner.check(), tools.toolchain().check(), *(each.check() for each in compilers)]
    return next(filter(None, problems), None) or ", ".join(lacking) or None


def runtime_of(name: str, folder: Path) -> list[Path]:
    """The TVM runtime that the recipe's runner executes code with, in a folder: installed, fetched, or
    compiled as its recipe does it, once in this checkout."""
    libraries = tools_for(recipe_of(name).target).runner_libraries().values()
    if any(isinstance(each, CompiledLibrary) for each in libraries):
        stage = graph_of(name).runner
        assert stage is not None
        stage.run()
        return [Path(shutil.copyfile(stage.path(each.name), folder / each.name)) for each in libraries]
    pinned = [asdict(each) for each in libraries if isinstance(each, PinnedLibrary)]
    runtime.run(folder, Inputs({}), pinned=pinned)
    for each in libraries:
        if isinstance(each, Path):
            shutil.copyfile(each, folder / each.name)
    return [folder / each.name for each in libraries]


def library_of(
    recipe: str, kernel: Any, folder: Path, stem: str = "", machine: Machine | None = None
) -> Path:
    """A kernel, compiled and linked for a recipe's machine; machine: another one of its platform."""
    name = str(kernel.attrs["global_symbol"])
    toolchain = tools_for(recipe_of(recipe).target).toolchain()
    made, out = folder / f"{stem or name}.o", folder / f"{stem or name}{toolchain.suffix}"
    generated_for(recipe, kernel, machine, toolchain.prefix(out)).write_to_file(str(made))
    toolchain.link([made], out)
    return out
