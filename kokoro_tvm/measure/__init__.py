"""Is it right: metrics, the stock model's references, gates, and the comparison of artifacts with them.

torch is imported by `stock` and `compute` alone, which make references; everything else only reads them.
"""

from __future__ import annotations

from kokoro_tvm.measure.artifact import Spoken, validate_component, validate_speech
from kokoro_tvm.measure.gates import Report, UtteranceReport, Verdict, judge, limits_of, write_report
from kokoro_tvm.measure.metrics import finite_fraction, magnitude_correlation, max_abs, snr_db
from kokoro_tvm.truth.reference import (
    Outputs,
    Reference,
    Trace,
    frame_counts,
    load_reference,
    save_reference,
)

__all__ = [
    "Outputs",
    "Reference",
    "Report",
    "Spoken",
    "Trace",
    "UtteranceReport",
    "Verdict",
    "finite_fraction",
    "frame_counts",
    "judge",
    "limits_of",
    "load_reference",
    "magnitude_correlation",
    "max_abs",
    "save_reference",
    "snr_db",
    "validate_component",
    "validate_speech",
    "write_report",
]
