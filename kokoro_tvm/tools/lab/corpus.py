"""Compare bundles with the regression corpus, and compute its expectations with the stock model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.runtime import Synthesizer, TooLongError
from kokoro_tvm.runtime.bundle.voices import style_of
from kokoro_tvm.runtime.text.phonemes import encode
from kokoro_tvm.tools.lab.setting import Lab, Progress
from kokoro_tvm.validation.measure.artifact import LONGER
from kokoro_tvm.validation.measure.expectations import (
    Expectation,
    compute_fingerprint,
    read_expectations,
    write_expectations,
)
from kokoro_tvm.validation.reference.corpus import MARGIN, choose, corpus, utterance_digest


@dataclass(frozen=True)
class CorpusCheck:
    """Differences of a bundle from the corpus."""

    bundle: str
    missed: Mapping[str, tuple[str, ...]]
    """Differences by utterance; empty if there is none."""
    not_run: Mapping[str, str]
    """Reason by utterance."""

    @property
    def passed(self) -> bool:
        """True if at least one utterance ran and none differs."""
        return bool(self.missed) and not any(self.missed.values())

    def lines(self) -> list[str]:
        """List the differences, the utterances that did not run, and the number of those as expected."""
        lines = [f"{name}: {'; '.join(missed)}" for name, missed in self.missed.items() if missed]
        lines += [f"{name}: not run: {reason}" for name, reason in self.not_run.items()]
        equal = sum(not missed for missed in self.missed.values())
        return [*lines, f"{self.bundle}: {equal} of {len(self.missed) + len(self.not_run)} as expected"]

    def to_json(self) -> dict[str, Any]:
        """Return the check as JSON data."""
        missed = {name: list(lines) for name, lines in self.missed.items()}
        header = {"schema": 1, "subject": self.bundle, "passed": self.passed}
        return header | {"missed": missed, "not_run": dict(self.not_run)}

    def require(self) -> None:
        """Raise ValidationError unless the check passed."""
        if not self.passed:
            names = ", ".join(name for name, missed in self.missed.items() if missed) or "nothing ran"
            raise ValidationError(
                f"{self.bundle} is not what the corpus expects: {names}. `kokoro-tvm validate e2e "
                "--utterance NAME` measures how far it is from the stock model."
            )


def check_bundle(tts: Synthesizer, names: Sequence[str], progress: Progress = lambda _: None) -> CorpusCheck:
    """Synthesize utterances of the corpus and compare them with their fingerprints.

    Args:
        tts: The bundle.
        names: Utterances to synthesize; all of them if empty.
        progress: Called with a line of text before every utterance.

    Raises:
        InputError: An utterance or voice does not exist.
    """
    bundle, expectations = str(tts.bundle.root), read_expectations()
    missed: dict[str, tuple[str, ...]] = {}
    not_run: dict[str, str] = {}
    for utterance in choose(names, corpus()) if names else corpus():
        expectation = expectations.get(utterance.name)
        if expectation is None or expectation.utterance != utterance_digest(utterance):
            not_run[utterance.name] = "it has changed; kokoro-tvm validate corpus --update"
            continue
        progress(f"{bundle}, {utterance.name}")
        # `from_phonemes` would divide an utterance that does not fit.
        style = style_of(tts.voices.table(utterance.voice), utterance.phonemes)
        tokens = encode(utterance.phonemes, tts.bundle.vocabulary)
        try:
            speech = tts.run(tokens, style, speed=utterance.speed, seed=utterance.seed)
        except TooLongError:
            not_run[utterance.name] = LONGER
            continue
        missed[utterance.name] = tuple(expectation.missed(speech.durations, speech.audio))
    return CorpusCheck(bundle, missed, not_run)


def update_corpus(lab: Lab) -> Path:
    """Write expectations.json of this package, computed with the stock model in float64; return its path.

    Raises:
        ValidationError: A duration is so near to a rounding boundary that float32 may round it otherwise.
    """
    references = lab.store.speech([u.bare() for u in corpus()])
    near = [f"{r.name} ({r.rounding_margin():.4f})" for r in references if r.rounding_margin() < MARGIN]
    if near:
        raise ValidationError(
            f"Durations come nearer than {MARGIN} frames to a rounding boundary: {', '.join(near)}. "
            "Give these utterances of corpus.yaml another voice, speed or other words."
        )
    return write_expectations(
        {
            u.name: Expectation(utterance_digest(u), r.frames, compute_fingerprint(r.truth.audio))
            for u, r in zip(corpus(), references, strict=True)
        }
    )
