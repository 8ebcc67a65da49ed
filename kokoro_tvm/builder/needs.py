"""What a recipe's stages need of the machine that builds, besides Python's packages."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from kokoro_tvm.builder.engine.versions import installed
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.common.packages import advice, missing
from kokoro_tvm.native.toolchains import problem_of
from kokoro_tvm.recipe import Recipe
from kokoro_tvm.targets import CompiledLibrary, Tools, target_kind, tools_for

__all__ = ["Need", "RequiredProgram", "debian_packages", "needs_of", "require_tools"]


class RequiredProgram(Protocol):
    """A linker, compiler or runner."""

    @property
    def packages(self) -> tuple[str, ...]: ...

    def version(self) -> str: ...

    def check(self) -> str | None: ...


@dataclass(frozen=True)
class Need:
    """stage: the first one that calls the program; way: of a runner, how it runs code."""

    about: str
    stage: str
    program: RequiredProgram
    way: str = ""

    @property
    def identity(self) -> tuple[str, object]:
        """What recipes that need the same have in common."""
        return self.about, self.way or self.program


@dataclass(frozen=True)
class _Assembler:
    """What compiles kernels of a kind of GPU to machine code: Python's packages."""

    tools: Tools
    packages: tuple[str, ...] = ()

    def version(self) -> str:
        return self.tools.assembler()

    def check(self) -> str | None:
        return problem_of(self.version)


class _Recogniser:
    """What understands speech: Python's packages."""

    packages = ()

    def version(self) -> str:
        if lacking := missing("asr"):
            raise BuildError(f"{', '.join(lacking)} not installed: `{advice(lacking)}`")
        return f"moonshine-voice {installed('moonshine-voice')}"

    def check(self) -> str | None:
        return problem_of(self.version)


_RECOGNISER = _Recogniser()


def needs_of(recipe: Recipe) -> list[Need]:
    """In the order of the stages."""
    tools = tools_for(recipe.target)
    found = []
    with suppress(BuildError):  # TVM itself is missing, which is no tool
        libraries = {**tools.runtime_libraries(ffi=recipe.runtime.c)}
        compilers = {each.compiler for each in libraries.values() if isinstance(each, CompiledLibrary)}
        found += [Need("C++ compiler", "libtvm", compiler) for compiler in compilers]
    compiler = tools.c_compiler()
    if recipe.runtime.c and compiler is not None:
        found.append(Need("C compiler", "libkokoro", compiler))
    found.append(Need("linker", "compile", tools.toolchain()))
    if target_kind(recipe.target.kind).has_machine_code:
        found.append(Need("GPU compiler", "assemble", _Assembler(tools)))
    runner = tools.runner()
    if runner is not None and runner.way:
        found.append(Need("runner", "validate", runner, runner.way))
    if recipe.gates.intelligibility.max_word_error_increase is not None:
        found.append(Need("speech recogniser", "intelligibility", _RECOGNISER))
    return found


def require_tools(recipe: Recipe) -> None:
    """Raise BuildError with one line for each program that the recipe's stages need and that is missing."""
    problems = dict.fromkeys(problem_of(need.program.version) for need in needs_of(recipe))
    if lines := [line for line in problems if line is not None]:
        raise BuildError("\n".join(lines))


def debian_packages(recipes: Iterable[Recipe]) -> list[str]:
    """Debian's packages that have everything that the recipes need, by name."""
    needs = (need for recipe in recipes for need in needs_of(recipe))
    return sorted({package for need in needs for package in need.program.packages})
