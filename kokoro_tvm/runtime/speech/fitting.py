"""Pieces of a plan made longer or shorter until they last a given number of samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.speech.piece import Piece

__all__ = ["fitted"]


def fitted(pieces: Sequence[Piece], samples: int, rate: int, size: int) -> tuple[Piece, ...]:
    """The pieces with sounds and pauses stretched alike; what is less than a frame goes into the last pause.

    samples: that all of them last; rate: samples of a second; size: samples of a frame.

    The silence at both ends of a piece stays as it is: stretched it turns into sounds. Raises InputError when
    one frame for every symbol is still too long.
    """
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
    """The symbols from the first sound to before the last, as a slice of the piece's.

    The last sound lasts into the silence, which stays as long as it is.
    """
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
    """Whole numbers of 1 or more that add up to `total`, as near to the proportions as can be."""
    if not durations:
        return []
    spare = total - len(durations)  # beyond the one that each gets
    weights = [duration - 1 for duration in durations]
    whole = sum(weights)
    if whole == 0:
        weights, whole = [1] * len(durations), len(durations)
    # Bresenham's line: the sums are rounded, so no part of the speech runs ahead by more than a frame.
    shares, reached, summed = [], 0, 0
    for weight in weights:
        summed += weight
        upto = (2 * spare * summed + whole) // (2 * whole)
        shares.append(1 + upto - reached)
        reached = upto
    return shares
