"""Stretching of a plan's pieces to a given number of samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.speech.piece import Piece


def stretch_pieces(pieces: Sequence[Piece], samples: int, rate: int, size: int) -> tuple[Piece, ...]:
    """Stretch sounds and pauses alike, to whole frames; the last pause takes the rest.

    Args:
        pieces: with durations.
        samples: of all pieces together.
        rate: samples per second.
        size: samples per frame.

    Raises:
        InputError: one frame per symbol is too long.
    """
    # The silence at both ends of a piece keeps its length: stretched, it turns into sounds.
    inner = [_inner(piece) for piece in pieces]
    durations = [
        d for piece, (first, last) in zip(pieces, inner, strict=True) for d in _flat(piece)[first:last]
    ]
    pauses = [piece.pause for piece in pieces]
    fixed = sum(piece.samples(size) for piece in pieces) - sum(pauses) - sum(durations) * size
    room = samples - fixed - len(durations) * size
    if room < 0:
        raise InputError(
            f"The plan cannot last {samples / rate:.2f} s: with one frame for every symbol it takes at least "
            f"{(samples - room) / rate:.2f} s. Leave words out."
        )
    stretch = (samples - fixed) / max(1, sum(durations) * size + sum(pauses))
    pauses = [min(int(pause * stretch), room * pause // max(1, sum(pauses))) for pause in pauses]
    total, rest = (
        divmod(samples - fixed - sum(pauses), size) if durations else (0, samples - fixed - sum(pauses))
    )
    pauses[-1] += rest
    shares = iter(_shares(durations, total))
    stretched = []
    for piece, pause, (first, last) in zip(pieces, pauses, inner, strict=True):
        flat = _flat(piece)
        flat[first:last] = [next(shares) for _ in flat[first:last]]
        stretched.append(replace(_with_flat(piece, flat), pause=pause))
    return tuple(stretched)


def _inner(piece: Piece) -> tuple[int, int]:
    """Return the range of symbols from the first sound to before the last, whose end is silence."""
    first, last, place = None, 0, 0
    for word in piece.words:
        if word.spoken:
            first = place if first is None else first
            last = place + len(word.phonemes) - 1
        place += len(word.symbols)
    return (first or 0), last


def _flat(piece: Piece) -> list[int]:
    return [duration for word in piece.words for duration in word.known_durations]


def _with_flat(piece: Piece, durations: Sequence[int]) -> Piece:
    words, place = [], 0
    for word in piece.words:
        count = len(word.symbols)
        words.append(replace(word, durations=tuple(durations[place : place + count])))
        place += count
    return replace(piece, words=tuple(words))


def _shares(durations: Sequence[int], total: int) -> list[int]:
    """Return integers of at least 1 that add up to `total`, proportional to durations - 1."""
    if not durations:
        return []
    spare = total - len(durations)  # beyond 1 each
    weights = [duration - 1 for duration in durations]
    whole = sum(weights)
    if whole == 0:
        weights, whole = [1] * len(durations), len(durations)
    # Bresenham's line: sums are rounded, so no part of the speech is off by more than a frame.
    shares, reached, summed = [], 0, 0
    for weight in weights:
        summed += weight
        upto = (2 * spare * summed + whole) // (2 * whole)
        shares.append(1 + upto - reached)
        reached = upto
    return shares
