"""From answers to results: medians, real-time factors, and GFLOP/s of the components of bundles."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from kokoro_tvm.bench.contender import Answer, Contender
from kokoro_tvm.bench.results import ComponentResult, SystemResult, TextInfo, TextResult
from kokoro_tvm.bench.systems import Absent
from kokoro_tvm.constants import SAMPLE_RATE
from kokoro_tvm.measure.flops import component_flops

__all__ = ["absent_result", "system_result"]


def system_result(
    contender: Contender,
    texts: Sequence[TextInfo],
    cold_starts: Sequence[float],
    imports: Sequence[float],
    peaks: Mapping[str, float],
    problem: str | None,
) -> SystemResult:
    """All that a contender measured; texts it did not come to in a warm round are left out.

    `peaks` is the machine's FLOP/s by precision, `problem` what happened after the rounds, if anything.
    """
    system = contender.system
    return SystemResult(
        name=system.name,
        title=system.title,
        ours=system.ours,
        precision=system.precision,
        details=contender.details,
        versions=system.versions,
        variables=dict(system.variables),
        disk_bytes=system.disk_bytes,
        cold_starts_s=tuple(cold_starts),
        cold_start_s=statistics.median(cold_starts) if cold_starts else None,
        import_s=statistics.median(imports) if imports else None,
        texts=tuple(
            _text_result(text, contender.answers[text.name], system.precision, peaks)
            for text in texts
            if len(contender.answers.get(text.name, ())) > 1
        ),
        problem=contender.problem or problem,
    )


def absent_result(absent: Absent) -> SystemResult:
    """The row of a system that did not run."""
    return SystemResult(
        name=absent.name,
        title=absent.title,
        ours=absent.ours,
        precision=absent.precision,
        details="",
        versions={},
        disk_bytes=None,
        cold_starts_s=(),
        cold_start_s=None,
        texts=(),
        problem=f"not run: {absent.reason}",
    )


def _text_result(
    text: TextInfo, answers: Sequence[Answer], precision: str, peaks: Mapping[str, float]
) -> TextResult:
    """`answers`: the first call, then the warm ones, of which one at least is there."""
    first, *warm = answers
    seconds = [answer.seconds for answer in warm]
    median = statistics.median(seconds)
    audio = sum(first.samples) / SAMPLE_RATE
    return TextResult(
        text=text.name,
        audio_s=audio,
        first_s=first.seconds,
        seconds_s=tuple(seconds),
        median_s=median,
        minimum_s=min(seconds),
        rtf=median / audio,
        # Of the first call: texts come in rising length, so nothing longer has been spoken by then.
        peak_rss_bytes=first.peak_rss_bytes,
        components=tuple(_components(text, warm, precision, peaks)),
    )


def _components(
    text: TextInfo, warm: Sequence[Answer], precision: str, peaks: Mapping[str, float]
) -> Iterator[ComponentResult]:
    """Only the decoder computes in a precision below float32, and float16 is one that memory holds."""
    for name in warm[0].components:
        peak = peaks.get("bfloat16" if (name, precision) == ("decoder", "bfloat16") else "float32")
        seconds = statistics.median(answer.components[name] for answer in warm)
        lengths = zip(text.tokens, warm[0].frames, strict=True)
        flops = sum(component_flops(name, tokens, frames) for tokens, frames in lengths)
        yield ComponentResult(
            component=name,
            seconds_s=seconds,
            flops=flops,
            flops_per_s=flops / seconds,
            share_of_peak=None if peak is None else flops / seconds / peak,
        )
