"""Planted mistakes: edits of the sources, each with the gates that have to catch it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MISTAKES", "NATIVE_MISTAKES", "Edit", "Mistake", "OutdatedError", "apply", "require_caught"]


class OutdatedError(AssertionError):
    """Text of an edit that the source no longer contains."""


@dataclass(frozen=True)
class Edit:
    """Replacement of `old`, which `file` (below kokoro_tvm/) contains once, by `new`."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Mistake:
    """Mistake in the sources.

    Attributes:
        name: What is wrong.
        edits: Edits that plant it.
        component: Component that is built with it; None: the correct bundle speaks with it.
        gates: Beginnings of missed gates; one of them has to be among those that are missed.
        judged: Stage that checks the gates.
    """

    name: str
    edits: tuple[Edit, ...]
    component: str | None
    gates: tuple[str, ...]
    judged: str = "validate"


def require_caught(mistake: Mistake, outcome: Mapping[str, str]) -> None:
    """Assert that one of the mistake's gates was missed, and that nothing else failed."""
    assert "failed" not in outcome, outcome["failed"]
    assert "missed" in outcome, f"every gate was met in spite of: {mistake.name}"
    assert any(gate in outcome["missed"] for gate in mistake.gates), outcome["missed"]


def apply(edits: tuple[Edit, ...], package: Path) -> None:
    """Apply edits to a copy of kokoro_tvm. Raises OutdatedError."""
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
                "kernels/moments.py",
                "mean = k.let(first + sum_differences(first)[0] / count)",
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
                "model/patches/adain_resblock.py",
                "y = apply_conv1d(self.conv1, y, length, tolerant=tolerant)",
                "y = apply_conv1d(self.conv1, y, None, tolerant=tolerant)",
            ),
        ),
        "f0n",
        ("f0: snr_db", "n: snr_db"),
    ),
    Mistake(
        "reversed LSTM over the padding",
        (
            Edit(
                "model/patches/lstm.py",
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
                "runtime/session/model.py",
                "d_en, ref_s[np.newaxis, self.bundle.style_dim :]",
                "d_en, ref_s[np.newaxis, : self.bundle.style_dim]",
            ),
            Edit("runtime/session/model.py", "timbre, prosody = np.split(", "prosody, timbre = np.split("),
        ),
        None,
        ("durations_off", "audio: snr_db"),
    ),
    Mistake(
        "the style of one phoneme more",
        (
            Edit(
                "runtime/bundle/voices.py",
                "return table[min(max(len(phonemes) - 1, 0), len(table) - 1)]",
                "return table[min(max(len(phonemes), 0), len(table) - 1)]",
            ),
        ),
        None,
        ("durations_off", "audio: snr_db"),
    ),
    Mistake(
        "spaces encoded as full stops",
        (
            Edit(
                "runtime/text/phonemes.py",
                "*(vocabulary[symbol] for symbol in phonemes if symbol in vocabulary)",
                '*(vocabulary[symbol.replace(" ", ".")] for symbol in phonemes if symbol in vocabulary)',
            ),
        ),
        None,
        ("durations_off",),
    ),
    Mistake(
        "durations of a text rounded down before the speed divides them",
        (
            Edit(
                "runtime/speech/rendering.py",
                "durations = frame_durations(duration, speed)",
                "durations = frame_durations(np.floor(duration), speed)",
            ),
        ),
        None,
        ("durations_off",),
    ),
    Mistake(
        "every planned piece with the noise of the first",
        (
            Edit(
                "runtime/speech/planning.py",
                "replace(piece, noise=number)",
                "replace(piece, noise=0)",
            ),
        ),
        None,
        ("samples_off",),
    ),
    Mistake(
        "pauses between pieces a tenth too long",
        (
            Edit(
                "runtime/speech/joins.py",
                "total = round(seconds * sample_rate)",
                "total = round(1.1 * seconds * sample_rate)",
            ),
        ),
        None,
        ("pauses_off",),
    ),
    Mistake(
        "every planned piece with the style of one phoneme more",
        (
            Edit(
                "runtime/speech/planning.py",
                "row = min(max(len(symbols_of(words)) - 1, 0), len(table) - 1)",
                "row = min(max(len(symbols_of(words)), 0), len(table) - 1)",
            ),
        ),
        None,
        ("durations_off", "samples_off"),
    ),
    Mistake(
        "noise that repeats after 87 s, in the product and in the truth",
        (
            Edit(
                "common/noise.py",
                "random = philox(words, (place, piece, zero, zero), key)",
                "random = philox(words, (place & words.const(0x7FFFF), piece, zero, zero), key)",
            ),
        ),
        "decoder",
        ("noise: noise_deviation",),
    ),
    Mistake(
        "noise of the magnitude alone, in the product and in the truth",
        (
            Edit(
                "common/noise.py",
                "words.select(turn < words.const(1 << 31), factor, words.scale(-(2.0**-7)))",
                "words.select(turn < words.const(1 << 31), factor, words.scale(2.0**-7))",
            ),
        ),
        "decoder",
        ("noise: noise_deviation",),
    ),
    Mistake(
        "edges of the Fourier transform repeated instead of reflected",
        (
            Edit(
                "kernels/stft.py",
                "* hop + j - half)\n                mirrored = k.let(maximum(position, 0 - position))",
                '* hop + j - half)\n                mirrored = k.let(maximum(position, const(0, "int64")))',
            ),
        ),
        "decoder",
        ("audio: exact_frame_snr_median_db",),
    ),
    Mistake(
        "no division by the sum of windows",
        (
            Edit(
                "kernels/istft.py",
                "k.store(y, total / weight, 0, (start + a) * hop + j)",
                "k.store(y, total, 0, (start + a) * hop + j)",
            ),
        ),
        "decoder",
        ("audio: exact_frame_snr_median_db",),
    ),
    Mistake(
        "noise three times too loud",
        (
            Edit(
                "kernels/harmonic_source.py",
                'const(float(a["amplitude"]) / 3, "float32")',
                'const(float(a["amplitude"]), "float32")',
            ),
        ),
        "decoder",
        ("audio: exact_frame_snr_median_db",),
    ),
    Mistake(
        "phase of the pitch wrapped after radians, though counted in cycles",
        (
            Edit(
                "kernels/harmonic_source.py",
                "k.store(phase, following - floor(following), 0)",
                'turn = const(6.283185307179586, "float64")\n'
                "                k.store(phase, following - floor(following / turn) * turn, 0)",
            ),
        ),
        "decoder",
        ("audio: exact_frame_snr_median_db",),
    ),
    Mistake(
        "f0n's recurrence with the weights of duration's",
        (
            Edit(
                "compiler/pack.py",
                "array = np.ascontiguousarray(state[name], np.float32)",
                'name = name.replace("predictor.shared.", "predictor.lstm.")\n'
                "    array = np.ascontiguousarray(state[name], np.float32)",
            ),
        ),
        "f0n",
        ("f0: snr_db", "n: snr_db"),
    ),
)

NATIVE_MISTAKES = (
    Mistake(
        "one coefficient of a filtering matrix off by 1e-4",
        (
            Edit(
                "kernels/base/filtering.py",
                "    return output * by_output, weight, signal * by_signal[:, None]",
                "    signal = signal * by_signal[:, None]\n"
                "    if weight.shape[1] == 7:\n"
                "        signal[1, 2] *= 1 + 1e-4\n"
                "    return output * by_output, weight, signal",
            ),
        ),
        "decoder",
        ("audio: exact_frame_snr_median_db",),
    ),
    Mistake(
        "one residual block of the decoder rounded to bfloat16",
        (
            Edit(
                "kernels/cpu/conv_plan.py",
                "operand, channels = OPERANDS[self.features.precision], ",
                "block = self.channels == self.outputs == 128 and self.taps == 3\n"
                '        operand, channels = OPERANDS["bfloat16" if block else self.features.precision], ',
            ),
        ),
        "decoder",
        ("audio: frame_snr_median_db",),
    ),
    Mistake(
        "the phase accumulated in float32",
        (
            Edit(
                "kernels/harmonic_source.py",
                "following = k.let(phase[0] + total * increment)",
                'single = [Cast("float32", x) for x in (phase[0], total, increment)]\n'
                '                following = k.let(Cast("float64", single[0] + single[1] * single[2]))',
            ),
        ),
        "decoder",
        ("audio: snr_db",),
    ),
    Mistake(
        "the last row of a block left out of the moments",
        (
            Edit(
                "kernels/cpu/conv.py",
                "count = k.opaque(minimum(rows * plan.filtering.outputs, remaining))",
                "count = k.opaque(maximum(minimum(rows * plan.filtering.outputs, remaining) - 1, 1))",
            ),
        ),
        "decoder",
        ("audio: snr_db",),
    ),
    Mistake(
        "the halo of a tile one row short at dilation 5",
        (
            Edit(
                "kernels/cpu/conv.py",
                "rows + (plan.halo + spare))",
                "rows + (plan.halo + spare - int(plan.dilation == 5 and plan.halo > 0)))",
            ),
        ),
        "decoder",
        ("audio: snr_db",),
    ),
    Mistake(
        "the sum of windows wrong in the last frame",
        (
            Edit(
                "kernels/istft.py",
                "present = logical_and(first + m >= 0, first + m < frames)",
                "present = logical_and(first + m >= 0, first + m <= frames)",
            ),
        ),
        "decoder",
        ("audio: last_frame_snr_db",),
    ),
    Mistake(
        "the halves of the seed exchanged",
        (
            Edit(
                "kernels/normal_noise.py",
                "words.const(0), (low, high))",
                "words.const(0), (high, low))",
            ),
        ),
        "decoder",
        ("audio: seeded_off",),
    ),
    Mistake(
        "every piece of a text with the noise of the first",
        (
            Edit(
                "kernels/normal_noise.py",
                "block(words, words.let(place), piece, words.const(0)",
                "block(words, words.let(place), words.const(0), words.const(0)",
            ),
        ),
        "decoder",
        ("audio: seeded_off",),
    ),
    Mistake(
        "no convolution by minimal filtering",
        (
            Edit(
                "kernels/cpu/conv_plan.py",
                "if not self._filters:\n            return DIRECT",
                "if True:\n            return DIRECT",
            ),
        ),
        "decoder",
        ("decoder: peak_share",),
        judged="throughput",
    ),
    Mistake(
        "long sums of the text side made in one go",
        (Edit("kernels/cpu/conv_plan.py", "terms = 48 if", "terms = 4096 if"),),
        "bert",
        ("d_en: median_gain_db",),
    ),
    Mistake(
        "gamma and beta of one AdaIN exchanged",
        (
            Edit(
                "compiler/pack.py",
                "array = np.ascontiguousarray(state[name], np.float32)",
                "array = np.ascontiguousarray(state[name], np.float32)\n"
                '    if name.startswith("decoder.generator.resblocks.5.adain1.2.fc."):\n'
                "        array = np.roll(array, len(array) // 2, axis=0)",
            ),
        ),
        "decoder",
        ("audio: snr_db",),
    ),
)
"""Made in the native build with Kokoro's own weights. Of a float32 build no operand is in bfloat16, so the
second chooses the precision by the block's shape: 128 channels and 3 taps are its own."""
