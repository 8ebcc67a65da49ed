"""Lower, compile, load and call a program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tvm_ffi
from numpy.typing import NDArray
from torch.export import ExportedProgram

from kokoro_tvm.builder.library import compile_module
from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.compiler.lower import lower
from kokoro_tvm.compiler.pack import compute_packed_weights
from kokoro_tvm.runtime.bundle.tensors import aligned
from kokoro_tvm.runtime.session.pool import compute
from kokoro_tvm.runtime.threads import usable_cores
from kokoro_tvm.targets.runners.tiles import use_amx
from kokoro_tvm.tools.lab.probe.subject import Subject

Array = NDArray[Any]


class CompiledSubject:
    """A program derived from the subject's, compiled as its artifact is, with the library in `folder`."""

    def __init__(self, subject: Subject, program: ExportedProgram, folder: Path) -> None:
        """Lower, compile and load the program."""
        lowered = lower(
            program,
            component=subject.component,
            machine=subject.machine,
            passes=subject.passes,
            pass_context=subject.pass_context,
            manifest={"component": subject.component, "bucket": subject.bucket, "length": subject.length},
            schedule=subject.schedule,
        )
        library = compile_module(
            lowered.module,
            subject.machine,
            subject.toolchain,
            folder / f"probe{subject.toolchain.suffix}",
            subject.pass_context,
            processes=usable_cores(),
        )
        if subject.machine.features.tiles:
            use_amx()
        vm = tvm_ffi.load_module(str(library.resolve()))["vm_load_executable"]()
        vm["vm_initialization"](1, 0, 2)
        self._call = vm[f"{subject.component}_forward"]
        packed = compute_packed_weights(lowered.parameters, subject.weights)
        self._weights = [tvm_ffi.from_dlpack(aligned(a, a.dtype)) for a in packed.values()]

    def run(self, inputs: Sequence[Array], threads: int) -> list[Array]:
        """Run the program. Raises ValidationError if the compiled code fails."""
        tensors = [tvm_ffi.from_dlpack(aligned(a, a.dtype)) for a in inputs]
        try:
            result = compute(threads, self._call, *tensors, *self._weights)
        except (RuntimeError, ValueError, TypeError) as error:  # raised by the virtual machine
            raise ValidationError(
                f"The compiled code failed before it gave any value: {error}. Ask for earlier values (--at) "
                "to find out how far it comes."
            ) from error
        outputs = [result] if isinstance(result, tvm_ffi.Tensor) else list(result)
        return [np.from_dlpack(output) for output in outputs]
