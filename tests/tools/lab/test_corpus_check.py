"""The corpus put to use: expectations are made once, and tell what differs from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.recipe import UtteranceSpec
from kokoro_tvm.runtime import Synthesizer, TooLongError
from kokoro_tvm.tools.lab.corpus import check_bundle, update_corpus
from kokoro_tvm.validation.measure import expectations as expectations_module
from kokoro_tvm.validation.reference import corpus as corpus_module
from kokoro_tvm.validation.reference.reference import Rendering, SpeechReference

YAML = """
- {name: one, kind: word, voice: af_heart, text: "One.", phonemes: "wˈʌn."}
- {name: two, kind: word, voice: am_adam, seed: 1, text: "Two.", phonemes: "tˈu."}
- {name: three, kind: word, voice: af_heart, seed: 2, text: "Three.", phonemes: "θɹˈi."}
"""


@dataclass
class Stock:
    """Stock model that speaks by the seed; `spoil` changes one utterance."""

    spoil: dict[str, Any] = field(default_factory=dict)
    duration: float = 5.2

    def speech(self, utterances: Sequence[UtteranceSpec]) -> list[SpeechReference]:
        return [self._reference(u) for u in utterances]

    def _reference(self, u: UtteranceSpec) -> SpeechReference:
        counts = np.full(len(u.phonemes) + 2, 5)
        audio = 0.1 * np.random.default_rng(u.seed).normal(size=600 * counts.sum())
        rendering = Rendering(self.spoil.get(u.name, lambda x: x)(audio), counts, np.zeros((1, 2)))
        about = {name: getattr(u, name) for name in ("name", "phonemes", "voice", "speed", "seed")}
        tokens, style = np.zeros((1, counts.size), np.int64), np.zeros((1, 256), np.float32)
        duration = np.full((1, counts.size), self.duration)
        sides = dict.fromkeys(("truth", "dynamic", "reseeded"), rendering)
        arrays = {"tokens": tokens, "ref_s": style, "duration": duration, "exact_audio": audio}
        return SpeechReference(**about, **arrays, **sides)


class Bundle(Synthesizer):
    """Synthesizer that speaks as `Stock` does; the longest utterance does not fit."""

    def __init__(self, spoil: dict[str, Any] | None = None) -> None:
        symbols: Any = {symbol: number for number, symbol in enumerate("wˈʌn.tuθɹi ", 1)}
        self.bundle: Any = SimpleNamespace(root=Path("toy"), vocabulary=symbols)
        self.voices: Any = SimpleNamespace(table=lambda voice: np.zeros((510, 256), np.float32))
        self._stock = Stock(spoil or {})

    def run(self, tokens: Any, ref_s: Any, speed: float = 1.0, noise: Any = None, seed: int = 0) -> Any:
        if len(tokens) > 7:
            raise TooLongError("tokens", len(tokens), 7)
        name = {0: "one", 1: "two", 2: "three"}[seed]
        phonemes = "x" * (len(tokens) - 2)
        spec = UtteranceSpec(name=name, phonemes=phonemes, voice="af_one", seed=seed)
        return self._stock.speech([spec])[0].truth


def lab(stock: Stock) -> Any:
    return SimpleNamespace(store=stock, progress=lambda _: None)


@pytest.fixture(autouse=True)
def three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Write a corpus of three utterances."""
    (tmp_path / "corpus.yaml").write_text(YAML, encoding="utf-8")
    monkeypatch.setattr(corpus_module, "_FOLDER", tmp_path)
    monkeypatch.setattr(expectations_module, "_FILE", tmp_path / "expectations.json")
    corpus_module.corpus.cache_clear()
    yield tmp_path
    corpus_module.corpus.cache_clear()


def test_check_bundle_passes_for_the_stock_model(three: Path) -> None:
    assert update_corpus(lab(Stock())) == three / "expectations.json"
    check = check_bundle(Bundle(), [])
    assert check.passed
    assert check.lines() == ["toy: 3 of 3 as expected"]
    check.require()
    assert check.to_json()["missed"] == {"one": [], "two": [], "three": []}


def test_check_bundle_lists_differences() -> None:
    update_corpus(lab(Stock()))
    check = check_bundle(Bundle({"two": lambda x: 1.3 * x}), [])
    assert check.lines()[0].startswith("two: a band is 2.")
    assert check.lines()[-1] == "toy: 2 of 3 as expected"
    with pytest.raises(ValidationError, match=r"not what the corpus expects: two\."):
        check.require()
    assert check_bundle(Bundle({"two": lambda x: 1.3 * x}), ["one", "three"]).passed


def test_changed_utterance_is_not_run(three: Path) -> None:
    update_corpus(lab(Stock()))
    changed = YAML.replace("seed: 1,", "seed: 7,")
    (three / "corpus.yaml").write_text(changed, encoding="utf-8")
    corpus_module.corpus.cache_clear()
    check = check_bundle(Bundle(), [])
    assert check.not_run == {"two": "it has changed; kokoro-tvm validate corpus --update"}
    assert check.lines()[-1] == "toy: 2 of 3 as expected"
    assert not check_bundle(Bundle(), ["two"]).passed, "nothing ran"


def test_update_refuses_durations_at_a_boundary() -> None:
    with pytest.raises(ValidationError, match=r"rounding boundary: one \(0\.0010\), two"):
        update_corpus(lab(Stock(duration=5.499)))


def test_missing_expectations_say_how_to_compute_them() -> None:
    with pytest.raises(ValidationError, match=r"expectations\.json cannot be read.*validate corpus --update"):
        check_bundle(Bundle(), [])


def test_expectation_accepts_the_same_audio(three: Path) -> None:
    longer = YAML.replace("wˈʌn.", "wˈʌn wˈʌn.")
    (three / "corpus.yaml").write_text(longer, encoding="utf-8")
    update_corpus(lab(Stock()))
    check = check_bundle(Bundle(), [])
    assert check.not_run == {"one": "longer than the bucket"}
    assert check.missed == {"two": (), "three": ()}
    assert check.lines()[-1] == "toy: 2 of 3 as expected"
