"""The component that is probed, as it is exported and compiled, with its weights."""

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

Array = NDArray[Any]


@dataclass(frozen=True)
class Subject:
    """A component, with the arguments of `export_component` and `lower`.

    `weights` is the folded state dict, float32 by name.
    """

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
        """The exact signature."""
        return signatures(self.config)[self.component]

    @cached_property
    def _traced(self) -> tuple[ExportedProgram, dict[str, str]]:
        """Program of the bucket, and the module of each node."""
        return self._trace(self.bucket)

    @property
    def program(self) -> ExportedProgram:
        """The exported program, which must not be changed."""
        return self._traced[0]

    @cached_property
    def values(self) -> list[Value]:
        """All values that it computes, in order."""
        return values_of(*self._traced)

    def inputs(self, values: Mapping[str, Array]) -> tuple[list[Array], int]:
        """Convert arrays of the exact signature to the program's inputs, padded if necessary.

        Returns:
            The inputs, and the valid length.
        """
        first = self.signature.inputs[0]
        length = int(values[first.name].shape[-1])
        arrays = [np.asarray(values[spec.name], spec.dtype) for spec in self.signature.inputs]
        if self.length == "exact":
            return arrays, length
        samples = samples_per_frame(self.config)
        padded = []
        for spec, array in zip(self.signature.inputs, arrays, strict=True):
            place = length_axis(spec.name, samples)
            padded.append(array if place is None else fit(array, place[0], place[1] * self.bucket))
        if self.length == "masked":
            padded.append(np.array([length], np.int64))
        return padded, length

    def valid(self, value: Value, array: Array, length: int) -> Array:
        """Return the part of a value that is defined: if lengths are masked, that of `length` steps."""
        if self.length != "masked" or value.node not in self._shorter:
            return array
        shorter = self._shorter[value.node]
        slices = []
        for whole, less in zip(value.shape(self.bucket), shorter.shape(self.bucket - 1), strict=True):
            step = whole - less  # elements of one token or frame
            slices.append(slice(0, whole - step * (self.bucket - length)))
        return array[tuple(slices)]

    @cached_property
    def _shorter(self) -> dict[str, Value]:
        """Values of the program for one step less: the difference in shape shows the axes of length."""
        if self.bucket == 1:
            return {}
        return {value.node: value for value in values_of(*self._trace(self.bucket - 1))}

    def _trace(self, bucket: int) -> tuple[ExportedProgram, dict[str, str]]:
        """Export the component for a bucket; return the program, and the module of each node."""
        program = trace_component(self.component, self.config, self.length, bucket, self.patches)
        modules = modules_of(program)
        strip_program(program)
        return program, modules
