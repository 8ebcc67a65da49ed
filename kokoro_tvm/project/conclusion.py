"""What a build ends with: where the bundle is, and what to do with it."""

from __future__ import annotations

from pathlib import Path

from kokoro_tvm.platforms import this_platform
from kokoro_tvm.project.graph import RecipeGraph
from kokoro_tvm.targets import target_kind
from kokoro_tvm.words import as_typed

__all__ = ["conclusion"]


def conclusion(graph: RecipeGraph, command: Path) -> str:
    """Two lines; command: the program `kokoro-tvm`."""
    bundle = as_typed(graph.bundle_folder)
    hello = f", and it says hello in {bundle / 'hello.wav'}" if graph.is_run else ""
    return f"The bundle is {bundle}{hello}.\nNext: {_next(graph, bundle, str(as_typed(command)))}"


def _next(graph: RecipeGraph, bundle: Path, command: str) -> str:
    target = graph.recipe.target
    kind = target_kind(target.kind)
    if kind.is_for_browsers(target):
        return f"{command} web {f'--gpu {bundle}' if kind.has_kernels else bundle} -o site"
    say = f'say --bundle {bundle} -o speech.wav "Anything you like."'
    platform = kind.platform(target)
    if platform == this_platform():
        return f"{command} {say}"
    if platform.system == "ios":
        return f"{command} package {graph.recipe.name}"
    return f"copy {bundle} to a machine with {platform}, and there: kokoro-tvm {say}"
