"""One utterance in every regime: compared step by step, decoders crossed, the decoder at every bucket."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kokoro_tvm.common.constants import STYLE_DIM
from kokoro_tvm.common.errors import InputError, ValidationError
from kokoro_tvm.recipe import UtteranceSpec
from kokoro_tvm.runtime import write_wav
from kokoro_tvm.tools.lab.decoders import Crossed, Decoded, crossings, sweep
from kokoro_tvm.tools.lab.setting import Lab
from kokoro_tvm.validation.measure.compare import Pair, compare
from kokoro_tvm.validation.measure.engine import Engine, chain
from kokoro_tvm.validation.measure.gates import first_of, missed_lines
from kokoro_tvm.validation.reference.reference import DYNAMIC, TRUTH
from kokoro_tvm.validation.reference.steps import Steps, save_steps

__all__ = [
    "DEFAULT_PAIRS",
    "REGIMES",
    "StepsReport",
    "parse_pairs",
    "regimes",
    "report_steps",
    "save_regimes",
]

MASKED, PADDED, TVM = "pt.masked", "pt.padded", "tvm"
REGIMES = (TRUTH, DYNAMIC, MASKED, PADDED, TVM)
DEFAULT_PAIRS = ((TRUTH, TVM), (TRUTH, DYNAMIC), (TRUTH, MASKED), (DYNAMIC, TVM), (DYNAMIC, PADDED))
"""(reference, value)."""
CROSSED = tuple((TVM, other) for other in (DYNAMIC, MASKED, PADDED)) + tuple(
    (other, TVM) for other in (DYNAMIC, MASKED, PADDED)
)
"""(decoder, fed by)."""


@dataclass(frozen=True)
class StepsReport:
    """Everything `validate steps` found about one utterance."""

    bundle: str
    enforce: bool
    """False where the bundle's recipe only reports its gates (length: padded)."""
    utterance: UtteranceSpec
    frames: int
    pairs: tuple[Pair, ...]
    crossed: tuple[Crossed, ...] = ()
    sweep: tuple[Decoded, ...] = ()

    @property
    def missed(self) -> list[str]:
        """One line each: the first step of a judged pair that misses a gate, and decoders that do."""
        lines = []
        for pair in self.pairs:
            row = pair.first_missed
            if pair.judged and row is not None:
                failed = first_of(missed_lines(("", v) for v in row.verdicts))
                lines.append(f"{pair}: the first step that misses its gate is {row.step} ({failed})")
        for done in self.sweep:
            if done.judged and done.status == "failed":
                failed = first_of(missed_lines(("", v) for v in done.verdicts))
                lines.append(f"{done}: {failed}")
        return lines

    def require(self) -> None:
        """Raise ValidationError, naming what missed a gate, unless the recipe's gates only report."""
        if self.enforce and self.missed:
            raise ValidationError(f"{self.bundle} missed gates. {'. '.join(self.missed)}.")

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {
            "schema": 1,
            "bundle": self.bundle,
            "enforce": self.enforce,
            "utterance": self.utterance.model_dump(mode="json"),
            "frames": self.frames,
            "passed": not self.missed,
            "missed": self.missed,
            "pairs": [pair.to_json() for pair in self.pairs],
            "crossed": [row.to_json() for row in self.crossed],
            "sweep": [row.to_json() for row in self.sweep],
        }


def parse_pairs(text: str) -> tuple[tuple[str, str], ...]:
    """Pairs of regimes from "pt.float64:tvm,pt.dynamic:tvm". Raises InputError."""
    pairs = []
    for word in text.split(","):
        reference, _, value = (part.strip() for part in word.partition(":"))
        if reference not in REGIMES or value not in REGIMES or reference == value:
            raise InputError(
                f"{word.strip()!r} is no pair of regimes. A pair is REFERENCE:VALUE, two of "
                f"{', '.join(REGIMES)}."
            )
        pairs.append((reference, value))
    return tuple(pairs)


def regimes(
    lab: Lab,
    utterance: UtteranceSpec,
    wanted: Iterable[str] = REGIMES,
    frames: int | None = None,
    given_durations: bool = False,
) -> dict[str, Steps]:
    """One utterance in these regimes, and always in those of the stock model, by name; one noise for all.

    `frames`: the static length of pt.masked and pt.padded, else the smallest usual one. `given_durations`:
    all align by the truth's durations. Raises TooLongError, RecipeError, BundleError, BuildError.
    """
    found = dict(lab.store.steps(utterance))
    request = lab.request_of(utterance)
    durations = found[TRUTH].values["pred_dur"] if given_durations else None
    with _engines(lab, set(wanted) - {TRUTH, DYNAMIC}) as engines:
        for regime, engine in engines.items():
            lab.progress(f"{regime}, {utterance.name}, every step")
            at = {"frames": frames} if frames and regime != TVM else None
            found[regime] = chain(engine, request, bucket=at, durations=durations)
    return found


def report_steps(
    lab: Lab,
    utterance: UtteranceSpec,
    found: Mapping[str, Steps],
    pairs: Sequence[tuple[str, str]] = DEFAULT_PAIRS,
    crossed: bool = True,
    buckets: Sequence[int] = (),
) -> StepsReport:
    """Compare what `regimes` found, pair by pair.

    `crossed`: also the crossed decoders, of those regimes that were found. `buckets`: also the decoder of
    pt.masked and pt.padded at these, and of the bundle at its own, on the truth's inputs.
    """
    gates = lab.recipe.gates
    compared = [compare(found[value], found[ref], gates, found[DYNAMIC]) for ref, value in pairs]
    crosses: list[Crossed] = []
    swept: list[Decoded] = []
    if crossed:
        chosen = [(d, f) for d, f in CROSSED if d in found and f in found]
        request = lab.request_of(utterance)
        longest = max(steps.values["audio"].size for steps in found.values())
        noise = request.draw(longest)[None]
        style = np.ascontiguousarray(request.ref_s[:, :STYLE_DIM])
        with _engines(lab, {decoder for decoder, _ in chosen}, inner=False) as engines:
            lab.progress("crossed decoders")
            crosses = list(crossings(engines, found, chosen, style, noise))
    if buckets:
        (reference,) = lab.store.references([utterance])
        with _engines(lab, {TVM, MASKED, PADDED}, inner=False) as engines:
            for regime, engine in engines.items():
                lab.progress(f"{regime}, the decoder at every bucket")
                swept += sweep(engine, reference, gates, None if regime == TVM else buckets)
    return StepsReport(
        str(lab.bundle.root),
        gates.enforce,
        utterance,
        found[TRUTH].frames,
        tuple(compared),
        tuple(crosses),
        tuple(swept),
    )


def save_regimes(found: Mapping[str, Steps], folder: Path, sample_rate: int) -> list[Path]:
    """Writes REGIME.safetensors, every step, and REGIME.wav, 32-bit float, into a folder; the files."""
    written = []
    folder.mkdir(parents=True, exist_ok=True)
    for regime, steps in found.items():
        tensors, sound = folder / f"{regime}.safetensors", folder / f"{regime}.wav"
        save_steps(steps, tensors)
        write_wav(sound, np.asarray(steps.values["audio"], np.float32), sample_rate)
        written += [tensors, sound]
    return written


@contextmanager
def _engines(lab: Lab, wanted: set[str], inner: bool = True) -> Iterator[dict[str, Engine]]:
    """Engines of these regimes, in the order of the tables."""
    made: dict[str, Engine] = {}
    policies = [policy for policy in ("masked", "padded") if f"pt.{policy}" in wanted]
    with ExitStack() as scope:
        if DYNAMIC in wanted:
            made[DYNAMIC] = lab.stock(DYNAMIC)
        if policies:
            eager = scope.enter_context(lab.eager(policies, inner=inner))
            made |= {engine.regime: engine for engine in eager.values()}
        if TVM in wanted:
            made[TVM] = lab.tvm
        yield made
