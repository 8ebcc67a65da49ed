"""Stage `phonemes`: compare the text front end with misaki and spaCy's tagger on sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.versions import find_version, versions
from kokoro_tvm.builder.stages.base import Place, gate_facts, log
from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.recipe import Gates, Recipe
from kokoro_tvm.validation.reference.phonemes import SENTENCES

_REFERENCE = ("misaki", "spacy", "num2words", "phonemizer-fork", "espeakng-loader")
_ENGLISH = {"American English": False, "British English": True}


def declare(place: Place, recipe: Recipe, front_end: Stage) -> Stage:
    """Declare the stage."""
    return place.stage(
        "phonemes",
        doc="compare the text front end with misaki",
        outputs=("phonemes.json",),
        inputs={name: (front_end, name) for name in ("front_end.safetensors", "tagger.zip")},
        settings=lambda: {"gates": recipe.gates.model_dump(mode="json"), "sentences": str(SENTENCES)},
        facts=lambda: {
            "gates": gate_facts(recipe, "phonemes"),
            "sentences": file_sha256(SENTENCES),
            "reference": {name: find_version(name) for name in _REFERENCE},
            "versions": versions("numpy"),
        },
    )


def run(out: Path, inputs: Inputs, *, gates: dict[str, Any], sentences: str) -> None:
    """Write the report.

    Raises:
        ValidationError: A gate is missed, or the reference cannot be run.
    """
    from kokoro_tvm.runtime.text.frontend.data import FrontEndFile
    from kokoro_tvm.runtime.text.frontend.english import EnglishFrontEnd
    from kokoro_tvm.runtime.text.frontend.letters import UnknownWordReader
    from kokoro_tvm.runtime.text.frontend.normalization import normalize
    from kokoro_tvm.runtime.text.frontend.normalization.language import LanguageRules
    from kokoro_tvm.runtime.text.frontend.source import SourceText
    from kokoro_tvm.validation.measure.gates import limits_of, write_report
    from kokoro_tvm.validation.measure.phonemes import SentenceReading, judge_phonemes
    from kokoro_tvm.validation.reference import phonemes as truth

    judged = Gates.model_validate(gates, strict=False)
    texts = truth.sentences(Path(sentences))
    file = FrontEndFile.open(inputs["front_end.safetensors"])
    read: dict[str, list[SentenceReading]] = {}
    for name, british in _ENGLISH.items():
        log(f"{name}: {len(texts)} sentences")
        data = file.english(british)
        english = EnglishFrontEnd(data, british, UnknownWordReader(data, british))
        forms = file.forms("en")
        language = None if forms is None else LanguageRules(forms, "b" if british else "a")
        # Numbers are written out for both, because the gates are not about how misaki reads numbers.
        words = [normalize(SourceText.of(text), language).source.text for text in texts]
        with truth.misaki_english(inputs["tagger.zip"], british) as misaki:
            read[name] = [
                SentenceReading(text, misaki(text), english.convert(SourceText.of(text)), british)
                for text in words
            ]
    report = judge_phonemes(read, limits_of(judged, "phonemes"), judged.enforce)
    for utterance in report.report.utterances:
        log(f"{utterance.name}: {dict(utterance.outputs['phonemes'])}")
    write_report(report, out / "phonemes.json")
    report.require()
