"""Mistakes one could make, each as one edit of one file, and the stages whose gate has to notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["MISTAKES", "Edit", "Mistake", "OutdatedError", "apply"]


class OutdatedError(AssertionError):
    """The source no longer says what an edit replaces."""


@dataclass(frozen=True)
class Edit:
    """In `file`, below kokoro_tvm/, `old` stands exactly once and becomes `new`."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Mistake:
    """component: whose artifact is made with it, None where the sound bundle speaks with it; gates: one of
    them must be among those the message names as missed."""

    name: str
    edits: tuple[Edit, ...]
    component: str | None
    gates: tuple[str, ...]


def apply(edits: tuple[Edit, ...], package: Path) -> None:
    """Makes the edits in the copy of kokoro_tvm at `package`; raises OutdatedError."""
    for edit in edits:
        path = package / edit.file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if text.count(edit.old) != 1:
            raise OutdatedError(
                f"kokoro_tvm/{edit.file} has {edit.old!r} {text.count(edit.old)} times where once is due: "
                "the source has moved on, so this mistake has to be written again"
            )
        path.write_text(text.replace(edit.old, edit.new), encoding="utf-8")


MISTAKES = (
    Mistake(
        "variance as the mean of squares less the square of the mean",
        (
            Edit(
                "ops/moments.py",
                "mean = k.let(first + about(first)[0] / count)",
                "mean = k.let(const(0.0, kind))",
            ),
        ),
        "f0n",
        ("f0: snr_db", "n: snr_db"),
    ),
    Mistake(
        "no mask behind the pool",
        (
            Edit(
                "patches/adain_resblock.py",
                "y = _conv(self.conv1, y, None, length, 1.0, tolerant=tolerant)",
                "y = _conv(self.conv1, y, None, None, 1.0, tolerant=tolerant)",
            ),
        ),
        "f0n",
        ("f0: snr_db", "n: snr_db"),
    ),
    Mistake(
        "reversed LSTM over the padding",
        (
            Edit(
                "patches/lstm.py",
                "        self.bias_hh_l0_reverse,\n        length,\n",
                "        self.bias_hh_l0_reverse,\n        None,\n",
            ),
        ),
        "text_encoder",
        ("t_en: snr_db",),
    ),
    Mistake(
        "halves of the style swapped",
        (
            Edit(
                "runtime/synthesizer.py",
                "return ref_s[np.newaxis, half:] if prosody else ref_s[np.newaxis, :half]",
                "return ref_s[np.newaxis, :half] if prosody else ref_s[np.newaxis, half:]",
            ),
        ),
        None,
        ("durations_off", "audio: snr_db"),
    ),
    Mistake(
        "edges of the Fourier transform repeated instead of reflected",
        (
            Edit(
                "ops/stft.py",
                "mirrored = k.let(maximum(position, 0 - position))",
                'mirrored = k.let(maximum(position, const(0, "int64")))',
            ),
        ),
        "decoder",
        ("audio: snr_db", "gain_db", "magnitude_correlation"),
    ),
    Mistake(
        "no division by the sum of windows",
        (
            Edit(
                "ops/istft.py",
                "k.store(y, total / weight, 0, (start + a) * hop + j)",
                "k.store(y, total, 0, (start + a) * hop + j)",
            ),
        ),
        "decoder",
        ("audio: snr_db",),
    ),
    Mistake(
        "noise three times too loud",
        (
            Edit(
                "ops/harmonic_source.py",
                'const(float(a["amplitude"]) / 3, "float32")',
                'const(float(a["amplitude"]), "float32")',
            ),
        ),
        "decoder",
        ("audio: snr_db",),
    ),
    Mistake(
        "phase of the pitch wrapped after radians, though counted in cycles",
        (
            Edit(
                "ops/harmonic_source.py",
                "k.store(phase, following - floor(following), 0)",
                'turn = const(6.283185307179586, "float64")\n'
                "                k.store(phase, following - floor(following / turn) * turn, 0)",
            ),
        ),
        "decoder",
        ("audio: snr_db",),
    ),
    Mistake(
        "f0n's recurrence with the weights of duration's",
        (
            Edit(
                "pack.py",
                "array = np.ascontiguousarray(state[parameter.name], np.float32)",
                'name = parameter.name.replace("predictor.shared.", "predictor.lstm.")\n'
                "        array = np.ascontiguousarray(state[name], np.float32)",
            ),
        ),
        "f0n",
        ("f0: snr_db", "n: snr_db"),
    ),
)
