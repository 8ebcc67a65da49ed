"""Texts in slots of time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from letters import read_letters

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime import Plan, SpeechWarning, Synthesizer
from kokoro_tvm.runtime.documents.readers.document import Slot
from kokoro_tvm.runtime.documents.slots import plan_slots

SLOTS = (Slot(0.5, 1.5, "He ran home."), Slot(1.5, 1.525, "A big bad dog did it."), Slot(3.0, 4.0, "No."))


@pytest.fixture
def tts(roomy: tuple[Synthesizer, Any], monkeypatch: pytest.MonkeyPatch) -> Synthesizer:
    monkeypatch.setattr("kokoro_tvm.runtime.speech.sentences.phonemize_sentence", read_letters)
    return roomy[0]


def test_plan_slots_fits_texts_into_slots(tts: Synthesizer) -> None:
    plan = plan_slots(SLOTS, tts.plan)
    speech = tts.render(plan)
    assert not speech.audio[:12000].any()
    text = "\n\n".join(slot.text for slot in SLOTS)
    assert all(text[slice(*word.source)] == word.text for word in speech.words)
    for slot in SLOTS:
        words = [w for w in speech.words if slot.start <= w.start < slot.end]
        assert " ".join(w.text for w in words) == slot.text.rstrip(".")
        assert words[0].start - slot.start <= 0.151
        assert words[-1].end <= slot.end
    assert np.array_equal(tts.render(Plan.from_json(plan.to_json())).audio, speech.audio)


def test_plan_slots_warns_of_short_slots(tts: Synthesizer) -> None:
    slots = (Slot(0, 0.001, "He ran home and back."), Slot(0.001, 1.0, "No."))
    with pytest.warns(SpeechWarning) as caught:
        plan = plan_slots(slots, tts.plan)
    assert [str(w.message).split("'")[2].split(" 0.")[0].strip() for w in caught] == [
        "is too long for its",
        "is spoken",
    ]
    assert "".join(w.text for w in plan.words if w.spoken) == "HeranhomeandbackNo"


def test_plan_slots_refuses_no_slots(tts: Synthesizer) -> None:
    with pytest.raises(InputError, match="no cue with text"):
        plan_slots((), lambda text: replace(tts.plan(text)))
