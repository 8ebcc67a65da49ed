"""Looks inside a component: values on its way, as compiled code and PyTorch compute them, side by side.

The component is exported once more, the wanted values become outputs of its program, and that is lowered and
compiled as the artifact itself is. PyTorch runs the same graph, operation by operation, in float32 and in
float64. An operation can also be compiled alone, given what it receives in the component.
"""

from __future__ import annotations

from kokoro_tvm.lab.probe.compare import Row, Summary
from kokoro_tvm.lab.probe.probe import Findings, Probe
from kokoro_tvm.lab.probe.subject import Subject
from kokoro_tvm.lab.probe.values import Value, results_of_modules, select

__all__ = ["Findings", "Probe", "Row", "Subject", "Summary", "Value", "results_of_modules", "select"]
