"""What the tests of lowering and compiling share: programs of the toy model and of a few lines, lowered
once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
import yaml
from machines import machine_of
from torch import nn
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from kokoro_tvm.compiler.export import export_component
from kokoro_tvm.compiler.lower import LoweredModule, lower
from kokoro_tvm.model.kokoro import load_shipped_config
from kokoro_tvm.model.synthetic import shrink_config
from kokoro_tvm.targets import Machine

RECIPE: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[1] / "recipes" / "kokoro-82m.yaml").read_text(encoding="utf-8")
)
CONFIG = shrink_config(load_shipped_config())
BUCKET = 64
STORAGE_STEP = 1280
MACHINE = machine_of("native", None, ())
PASSES: tuple[str, ...] = tuple(RECIPE["passes"])


def program(component: str, policy: str = "exact") -> ExportedProgram:
    """A fresh export of a toy component: lowering changes the program it is given."""
    return export_component(component, CONFIG, policy, BUCKET, RECIPE["components"][component]["patches"])


def lowered_program(
    exported: ExportedProgram,
    component: str,
    passes: Sequence[str] = PASSES,
    dump: Callable[[str, Any], None] = lambda name, module: None,
    machine: Machine = MACHINE,
    schedule: Mapping[str, Mapping[str, int]] = MappingProxyType({}),
    pass_context: Mapping[str, Any] = RECIPE["pass_context"],
) -> LoweredModule:
    return lower(
        exported,
        component=component,
        machine=machine,
        passes=passes,
        pass_context=pass_context,
        manifest={"component": component, "bucket": BUCKET},
        schedule=schedule,
        storage_step=STORAGE_STEP,
        dump=dump,
    )


def parameters(exported: ExportedProgram) -> dict[str, torch.Tensor]:
    """Parameter name -> meta tensor (shape and dtype), in the order of the program's first inputs."""
    specs = exported.graph_signature.input_specs
    names = [str(s.target) for s in specs if s.kind is InputKind.PARAMETER]
    return {name: exported.state_dict[name] for name in names}


@cache
def lowered(component: str, policy: str = "exact") -> tuple[LoweredModule, dict[str, Any]]:
    """A toy component lowered with the recipe's passes, and the module after each of them."""
    phases: dict[str, Any] = {}
    return lowered_program(program(component, policy), component, dump=phases.__setitem__), phases


def small_program(forward: Callable[..., Any], weights: dict[str, tuple[int, ...]]) -> ExportedProgram:
    """A program of a few lines: `forward(weights, x)` for x (1, 9, 4)."""

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name, shape in weights.items():
                self.register_parameter(name, nn.Parameter(torch.zeros(shape), requires_grad=False))

        def forward(self, x: torch.Tensor) -> Any:
            return forward(dict(self.named_parameters()), x)

    return torch.export.export(Model(), (torch.zeros(1, 9, 4),))
