"""What is probed: one component of a recipe as it is exported and compiled, with its weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.export import ExportedProgram

from kokoro_tvm.compiler.export import strip_program, trace_component
from kokoro_tvm.model.signatures import Signature, samples_per_frame, signatures
from kokoro_tvm.native.toolchains import Toolchain
from kokoro_tvm.runtime.session.routing import fit, length_axis
from kokoro_tvm.targets import Machine
from kokoro_tvm.tools.lab.probe.values import Value, modules_of, values_of

__all__ = ["Subject"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Subject:
    """component to schedule: as `export_component` and `lower` take them; weights: the folded state dict,
    float32 by name."""

    component: str
    config: Mapping[str, Any]
    length: str
    bucket: int
    patches: tuple[str, ...]
    passes: tuple[str, ...]
    pass_context: Mapping[str, Any]
    machine: Machine
    toolchain: Toolchain
    weights: Mapping[str, Array]
    schedule: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @cached_property
    def signature(self) -> Signature:
        return signatures(self.config)[self.component]

    @cached_property
    def _traced(self) -> tuple[ExportedProgram, dict[str, str]]:
        return self._trace(self.bucket)

    @property
    def program(self) -> ExportedProgram:
        """The exported program; not to be changed."""
        return self._traced[0]

    @cached_property
    def values(self) -> list[Value]:
        """All that it computes, in order."""
        return values_of(*self._traced)

    def inputs(self, given: Mapping[str, Array]) -> tuple[list[Array], int]:
        """Arrays of the exact signature by name -> the program's own inputs, padded where it is of a fixed
        length, and the valid length."""
        first = self.signature.inputs[0]
        length = int(given[first.name].shape[-1])
        arrays = [np.asarray(given[spec.name], spec.dtype) for spec in self.signature.inputs]
        if self.length == "exact":
            return arrays, length
        samples = samples_per_frame(self.config)
        padded = []
        for spec, array in zip(self.signature.inputs, arrays, strict=True):
            where = length_axis(spec.name, samples)
            padded.append(array if where is None else fit(array, where[0], where[1] * self.bucket))
        if self.length == "masked":
            padded.append(np.array([length], np.int64))
        return padded, length

    def valid(self, value: Value, array: Array, length: int) -> Array:
        """The part of a value that is defined: all, or, where it is masked, what `length` steps fill."""
        if self.length != "masked" or value.node not in self._shorter:
            return array
        shorter = self._shorter[value.node]
        cut = []
        for whole, less in zip(value.shape(self.bucket), shorter.shape(self.bucket - 1), strict=True):
            step = whole - less  # what one token or frame more makes
            cut.append(slice(0, whole - step * (self.bucket - length)))
        return array[tuple(cut)]

    @cached_property
    def _shorter(self) -> dict[str, Value]:
        """The values of the same program for one step less; what differs in shape has a length in it."""
        if self.bucket == 1:
            return {}
        return {value.node: value for value in values_of(*self._trace(self.bucket - 1))}

    def _trace(self, bucket: int) -> tuple[ExportedProgram, dict[str, str]]:
        program = trace_component(self.component, self.config, self.length, bucket, self.patches)
        modules = modules_of(program)
        strip_program(program)
        return program, modules
