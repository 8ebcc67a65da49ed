"""Compare whole utterances of bundles with the stock model and judge them by their gates."""

from __future__ import annotations

from collections.abc import Sequence

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.recipe import UtteranceSpec
from kokoro_tvm.runtime.bundle.voices import Voices
from kokoro_tvm.runtime.speech.synthesizer import Synthesizer
from kokoro_tvm.tools.lab.setting import Lab
from kokoro_tvm.validation.measure.e2e import EndToEnd, compare_bundles, render_all
from kokoro_tvm.validation.reference.corpus import choose, corpus


def choose_utterances(lab: Lab, names: Sequence[str], whole_corpus: bool) -> list[UtteranceSpec]:
    """Return utterances of the recipe and the corpus by name.

    Without names, return the recipe's, or those of the corpus if `whole_corpus` is true. Raises
    InputError for an unknown name.
    """
    all_utterances: list[UtteranceSpec] = [*lab.recipe.utterances, *(u.bare() for u in corpus())]
    if whole_corpus:
        return [*(u.bare() for u in corpus()), *choose(names, all_utterances)]
    return choose(names, all_utterances) if names else list(lab.recipe.utterances)


def compare_end_to_end(labs: Sequence[Lab], utterances: Sequence[UtteranceSpec]) -> EndToEnd:
    """Render the utterances with bundles of one model and compare them with the first lab's references.

    Raises:
        InputError: The bundles are of different models, or two folders have the same name.
    """
    models = sorted({lab.bundle.model for lab in labs})
    if len(models) > 1:
        raise InputError(f"The bundles are of different models ({', '.join(models)}): measure them apart.")
    by_name = {lab.bundle.root.resolve().name: lab for lab in labs}
    if len(by_name) < len(labs):
        raise InputError(f"Two bundles are called alike ({', '.join(by_name)}): name different folders.")
    first = labs[0]
    references = first.store.speech(utterances)
    renderings = {}
    for name, lab in by_name.items():
        tts = Synthesizer.from_parts(lab.bundle, lab.tvm.session, Voices.open(lab.bundle))
        renderings[name] = render_all(tts, references, lab.progress)
    gates = {name: lab.recipe.gates for name, lab in by_name.items()}
    own = [u.name for u in utterances if u in first.recipe.utterances]
    return compare_bundles(references, renderings, gates, own)
