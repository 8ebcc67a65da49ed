"""Learns words of two readings from WikipediaHomographData, for the front end of bundles.

    python docs/homographs.py DATA FRONT_END  # writes kokoro_tvm/model/front_end/homographs.safetensors

DATA: a checkout of github.com/google-research-datasets/WikipediaHomographData. FRONT_END: the folder of the
stage `front_end`, whose tagger is read. The part `train` is learned from, the part `eval` only measured.

Most words differ as a verb does from a noun or an adjective. One logistic regression over all of them learns
what a verb is; its score is one more feature of each word's own softmax regression, and being linear it is
added to the word's weights when both are learned. It alone reads a word whose verb no sentence has.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kokoro_tvm.model.front_end.conversion import NOTICES, TAGGER_FILES
from kokoro_tvm.model.front_end.homograph_file import TAGGER, WEIGHTS, read_homographs
from kokoro_tvm.model.front_end.yields import FILES
from kokoro_tvm.model.safetensors_file import write_arrays
from kokoro_tvm.runtime.text.frontend.data import HOMOGRAPH_TENSORS, FrontEndFile
from kokoro_tvm.runtime.text.frontend.hashing import hash_text
from kokoro_tvm.runtime.text.frontend.homographs import HomographData, Homographs, names, neighbor_states
from kokoro_tvm.runtime.text.frontend.tagger import Tagger
from kokoro_tvm.runtime.text.frontend.tokenizer import Tokenizer

# Chosen by four-fold cross-validation over the part `train`.
_BUCKETS = 1024
_STATES, _NAMES, _VERB = 0.15, 0.7, 1.0  # sizes of the features beside each other
_SHARED_DECAY, _DECAY = 1e-3, 1e-2


@dataclass(frozen=True)
class Sentence:
    """A word of two readings in a sentence: as it is tagged, and which reading it has."""

    word: str
    reading: str
    place: int
    texts: Sequence[str]
    tags: Sequence[str]
    states: NDArray[np.float32]


def sentences(folder: Path, file: FrontEndFile) -> Iterator[Sentence]:
    """The sentences of a part (train, eval) that have the word as a piece of its own."""
    tokenizer, tagger = Tokenizer(file.tokenizer), Tagger(file.tagger)
    for path in sorted(folder.glob("*.tsv")):
        with path.open(encoding="utf-8", newline="") as rows:
            for row in csv.DictReader(rows, delimiter="\t"):
                text = row["sentence"]
                start = len(text.encode()[: int(row["start"])].decode())
                pieces = list(tokenizer(text))
                tags, states = tagger(pieces)
                for place, piece in enumerate(pieces):
                    if piece.start == start and piece.text.lower() == row["homograph"]:
                        texts = [piece.text for piece in pieces]
                        yield Sentence(row["homograph"], row["wordid"], place, texts, tags, states)


def _named(one: Sentence) -> NDArray[np.float32]:
    found = np.zeros(_BUCKETS, np.float32)
    lower = [text.lower() for text in one.texts]
    for name in names(one.place, one.texts[one.place], lower, one.tags):
        found[hash_text(name) % _BUCKETS] += 1
    return found


def _minimum(loss: Callable[[], torch.Tensor], parameters: Sequence[torch.Tensor]) -> None:
    optimizer = torch.optim.LBFGS(parameters, max_iter=100, line_search_fn="strong_wolfe")

    def closure() -> float:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return float(value.detach())

    optimizer.step(closure)


def verb_weights(features: torch.Tensor, verb: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What all words have in common where they are verbs: weights (features,) and a bias (1,)."""
    weight = torch.zeros(features.shape[1], dtype=features.dtype, requires_grad=True)
    bias = torch.zeros(1, dtype=features.dtype, requires_grad=True)
    cost = torch.nn.functional.binary_cross_entropy_with_logits
    _minimum(
        lambda: cost(features @ weight + bias, verb) + _SHARED_DECAY * weight.square().sum(), [weight, bias]
    )
    return weight.detach(), bias.detach()


def reading_weights(
    features: torch.Tensor, read_homographs: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Softmax regression of one word: weights (readings, features) and biases (readings,)."""
    count = int(read_homographs.max()) + 1
    kernel = features @ features.T
    dual = torch.zeros(len(features), count, dtype=features.dtype, requires_grad=True)
    bias = torch.zeros(count, dtype=features.dtype, requires_grad=True)

    def loss() -> torch.Tensor:
        fitted = kernel @ dual
        return (
            torch.nn.functional.cross_entropy(fitted + bias, read_homographs) + _DECAY * (dual * fitted).sum()
        )

    _minimum(loss, [dual, bias])
    return (features.T @ dual).T.detach(), bias.detach()


def learn(found: Sequence[Sentence], order: Mapping[str, Sequence[str]]) -> dict[str, NDArray[Any]]:
    """The tensors of HomographData; order: words with the names of their readings."""
    states = np.stack([neighbor_states(one.place, one.states) for one in found])
    mean, deviation = states.mean(axis=0), states.std(axis=0) + 1e-3
    named = np.stack([_named(one) for one in found])
    both = torch.tensor(np.hstack([(states - mean) / deviation, named]))
    words = np.array([one.word for one in found])
    verbs = {
        word for word, read_homographs in order.items() if any(r.endswith("_vrb") for r in read_homographs)
    }
    verbal = torch.tensor([one.word in verbs for one in found])
    is_verb = torch.tensor([float(one.reading.endswith("_vrb")) for one in found])
    shape = torch.ones(both.shape[1])
    shape[: states.shape[1]] = 0.3
    shared, level = verb_weights((both * shape)[verbal], is_verb[verbal])
    shared *= shape
    shape[: states.shape[1]] = _STATES
    shape[states.shape[1] :] = _NAMES
    rows, biases = [], []
    for word, named_so in order.items():
        own = both[torch.tensor(words == word)]
        wanted = torch.tensor([named_so.index(one.reading) for one in found if one.word == word])
        if len(set(wanted.tolist())) == 1:
            verb = torch.tensor([float(reading.endswith("_vrb")) for reading in named_so])
            rows.append((verb[:, None] * shared).double())
            biases.append((verb * level).double())
            continue
        features = torch.hstack([own * shape, _VERB * (own @ shared)[:, None]]).double()
        weights, bias = reading_weights(features, wanted)
        rows.append(weights[:, :-1] * shape + _VERB * weights[:, -1:] * shared)
        biases.append(bias)
    weights = torch.cat(rows).numpy()
    scales = np.maximum(np.abs(weights).max(axis=1), 1e-9) / 127
    return {
        "mean": mean, "deviation": deviation, "scales": scales.astype(np.float32),
        "weights": (np.rint(weights / scales[:, None]) + 128).astype(np.uint8),
        "biases": torch.cat(biases).numpy().astype(np.float32),
    }  # fmt: skip


def right(model: Homographs, tried: Iterable[Sentence]) -> int:
    """How many sentences have their reading."""
    return sum(model(one.texts, one.tags, one.states)[one.place] == one.reading for one in tried)


def main(data: Path, front_end: Path) -> None:
    """Learn, measure, write."""
    file = FrontEndFile.open(front_end / FILES[0])
    order = {word: list(named) for word, named in read_homographs().items()}
    found, kept = (
        [one for one in sentences(data / "data" / part, file) if one.word in order]
        for part in ("train", "eval")
    )
    arrays = learn(found, order)
    model = Homographs(HomographData(**arrays, words=order))
    for part, tried in (("train", found), ("eval", kept)):
        print(f"{part}: {right(model, tried)} of {len(tried)}, {right(model, tried) / len(tried):.2%}")
    fetched = json.loads((front_end / FILES[2]).read_text(encoding="utf-8"))
    learned_with = np.frombuffer(bytes.fromhex(fetched["tagger"][TAGGER_FILES[0]]), np.uint8)
    weights = {name: arrays[name] for name in HOMOGRAPH_TENSORS} | {TAGGER: learned_with}
    write_arrays(WEIGHTS, weights, {"notice": NOTICES["homographs"]})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
