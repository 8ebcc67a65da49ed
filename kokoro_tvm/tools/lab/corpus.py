"""The regression corpus: its expectations are made of the stock model, and bundles are held against them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.runtime import Speech, Synthesizer, TooLongError
from kokoro_tvm.runtime.bundle.voices import style_of
from kokoro_tvm.runtime.text.phonemes import encode
from kokoro_tvm.tools.lab.setting import Lab, Progress
from kokoro_tvm.validation.measure.artifact import LONGER
from kokoro_tvm.validation.measure.expectations import (
    Expectation,
    expectations,
    fingerprint,
    write_expectations,
)
from kokoro_tvm.validation.reference.corpus import MARGIN, CorpusUtterance, choose, corpus, utterance_digest

__all__ = ["CorpusCheck", "check_bundle", "update_corpus"]


@dataclass(frozen=True)
class CorpusCheck:
    """What differs from what is expected."""

    subject: str
    """The bundle's folder."""
    missed: Mapping[str, tuple[str, ...]]
    """By utterance, in words; empty where nothing differs."""
    not_run: Mapping[str, str]
    """By utterance, why."""

    @property
    def passed(self) -> bool:
        """True when something ran and nothing differs."""
        return bool(self.missed) and not any(self.missed.values())

    def lines(self) -> list[str]:
        """What differs, what did not run, and how many are as expected."""
        lines = [f"{name}: {'; '.join(missed)}" for name, missed in self.missed.items() if missed]
        lines += [f"{name}: not run: {reason}" for name, reason in self.not_run.items()]
        fine = sum(not missed for missed in self.missed.values())
        return [*lines, f"{self.subject}: {fine} of {len(self.missed) + len(self.not_run)} as expected"]

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        data = {"schema": 1, "subject": self.subject, "passed": self.passed}
        return data | {"missed": {k: list(v) for k, v in self.missed.items()}, "not_run": dict(self.not_run)}

    def require(self) -> None:
        """Raise ValidationError unless `passed`."""
        if not self.passed:
            off = ", ".join(name for name, missed in self.missed.items() if missed) or "nothing ran"
            raise ValidationError(
                f"{self.subject} is not what the corpus expects: {off}. `kokoro-tvm validate e2e --utterance "
                "NAME` measures how far it is from the stock model."
            )


def check_bundle(tts: Synthesizer, names: Sequence[str], progress: Progress = lambda _: None) -> CorpusCheck:
    """Let a bundle say the named utterances, all 60 if none, and hold them against their fingerprints.

    Raises InputError for a name or voice there is not.
    """
    subject, expected_of = str(tts.bundle.root), expectations()
    missed: dict[str, tuple[str, ...]] = {}
    not_run: dict[str, str] = {}
    for utterance in choose(names, corpus()) if names else corpus():
        expected = expected_of.get(utterance.name)
        if expected is None or expected.utterance != utterance_digest(utterance):
            not_run[utterance.name] = "it has changed; kokoro-tvm validate corpus --update"
            continue
        progress(f"{subject}, {utterance.name}")
        try:
            speech = _speak(tts, utterance)
        except TooLongError:
            not_run[utterance.name] = LONGER
            continue
        missed[utterance.name] = tuple(expected.missed(speech.durations, speech.audio))
    return CorpusCheck(subject, missed, not_run)


def update_corpus(lab: Lab) -> Path:
    """Make expectations.json again from the stock model in float64; returns its path.

    Raises ValidationError when a duration sits too near to a rounding boundary: such an utterance proves
    nothing and has to be changed in corpus.yaml.
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
            u.name: Expectation(utterance_digest(u), r.frames, fingerprint(r.truth.audio))
            for u, r in zip(corpus(), references, strict=True)
        }
    )


def _speak(tts: Synthesizer, utterance: CorpusUtterance) -> Speech:
    """As one utterance: `from_phonemes` would divide what does not fit."""
    style = style_of(tts.voices.table(utterance.voice), utterance.phonemes)
    tokens = encode(utterance.phonemes, tts.bundle.vocabulary)
    return tts.run(tokens, style, speed=utterance.speed, seed=utterance.seed)
