"""Plans of texts in slots of time, such as subtitles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.documents.readers.document import Slot
from kokoro_tvm.runtime.notices import quoted, warn
from kokoro_tvm.runtime.speech.joins import ATTACK, RELEASE
from kokoro_tvm.runtime.speech.piece import Piece
from kokoro_tvm.runtime.speech.plan import Plan


def plan_slots(slots: Sequence[Slot], plan: Callable[[str], Plan]) -> Plan:
    """Return one plan that begins each text at the start of its slot, and speaks faster in short slots.

    A slot that is shorter than one frame per symbol delays the next one, with a SpeechWarning. Spans of words
    are places in the texts joined by blank lines.

    Args:
        slots: in the order of their starts.
        plan: returns the plan of a text.

    Raises:
        InputError: there is no slot, or a text cannot be spoken.
    """
    if not slots:
        raise InputError("There is nothing to speak: there is no cue with text.")
    pieces: list[Piece] = []
    first: Plan | None = None
    now = place = 0  # in samples, in characters
    for slot in slots:
        planned = _trim(plan(slot.text))
        first = first or planned
        start, end = (round(second * planned.sample_rate) for second in (slot.start, slot.end))
        if now > start:
            warn(f"{quoted(slot.text)} is spoken {(now - start) / planned.sample_rate:.2f} s late.")
        elif now < start:
            pieces.append(Piece((), noise=len(pieces), pause=start - now))
            now = start
        planned = _fit(planned, end - now, slot)
        for piece in planned.pieces:
            words = (replace(w, start=w.start + place, end=w.end + place) for w in piece.words)
            pieces.append(replace(piece, words=tuple(words), noise=len(pieces)))
        now += planned.samples
        place += len(slot.text) + 2
    assert first is not None
    return replace(first, pieces=tuple(pieces))


def _trim(plan: Plan) -> Plan:
    """Remove the silence at both ends, so that speech begins with the slot."""
    attack, release = round(ATTACK * plan.sample_rate), round(RELEASE * plan.sample_rate)
    first = plan.pieces[0]
    plan = plan.with_piece(0, replace(first, keep=(attack, first.keep[1])))
    last = len(plan.pieces) - 1
    return plan.with_piece(
        last, replace(plan.pieces[last], keep=(plan.pieces[last].keep[0], release), pause=0)
    )


def _fit(plan: Plan, room: int, slot: Slot) -> Plan:
    if plan.samples <= room:
        return plan
    try:
        return plan.with_samples(max(room, 1))
    except InputError:
        warn(f"{quoted(slot.text)} is too long for its {slot.end - slot.start:.2f} s.")
        return plan
