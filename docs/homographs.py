"""Train the homograph model of the front end on WikipediaHomographData and on patterns of sentences.

    python docs/homographs.py DATA FRONT_END  # writes kokoro_tvm/model/front_end/homographs.safetensors

DATA: a checkout of github.com/google-research-datasets/WikipediaHomographData. FRONT_END: the folder of the
stage `front_end`, whose tagger is used. The part `train` trains the model, the part `eval` only measures it.

In Wikipedia the rare reading of half of the words has fewer than ten sentences, or none. homographs.yaml has
patterns, written for this project, that give every reading about as many sentences.

Most words differ as a verb does from a noun or an adjective. One logistic regression over all of them learns
what a verb is. Its score is one more feature of each word's own softmax regression, and because it is linear
it is added to the word's weights after training.
"""

from __future__ import annotations

import csv
import json
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from numpy.typing import NDArray

from kokoro_tvm.model.front_end.conversion import NOTICES, TAGGER_FILES
from kokoro_tvm.model.front_end.homograph_file import TAGGER, WEIGHTS, number_readings, read_homographs
from kokoro_tvm.model.front_end.yields import FILES
from kokoro_tvm.model.safetensors_file import write_arrays
from kokoro_tvm.runtime.text.frontend.data import HOMOGRAPH_TENSORS, FrontEndFile
from kokoro_tvm.runtime.text.frontend.hashing import hash_text
from kokoro_tvm.runtime.text.frontend.homographs import HomographData, Homographs, names, neighbor_states
from kokoro_tvm.runtime.text.frontend.tagger import Tagger
from kokoro_tvm.runtime.text.frontend.tokenizer import Tokenizer

PATTERNS = Path(__file__).with_suffix(".yaml")

_BUCKETS = 2048
_STATES, _NAMES, _VERB = 0.3, 1.0, 0.5  # scales of the features
_SHARED_DECAY, _DECAY = 1e-3, 0.3  # the second is divided by a word's sentences
_PATTERN_WEIGHT = 0.6  # of a sentence from a pattern; one of Wikipedia has 1
_BALANCE = 0.3  # 0: sentences of all readings weigh alike; 1: all readings do
_PER_FRAME, _PER_PATTERN = 3, 24  # sentences drawn from a pattern for every word, and for one word

Reading = tuple[str, str, str]
"""A word, the name of its reading, and a sentence with "_" in the word's place."""


@dataclass(frozen=True)
class Sentence:
    """A tagged sentence, and the reading of the homograph at a place."""

    word: str
    reading: str
    place: int
    texts: Sequence[str]
    tags: Sequence[str]
    states: NDArray[np.float32]
    weight: float = 1.0


def wikipedia(folder: Path, order: Mapping[str, Sequence[str]]) -> Iterator[Reading]:
    """Yield the sentences of a part (train, eval).

    Words that neither the part nor their readings have a file for occur in sentences of other words, and have
    their first reading there.
    """
    paths = sorted(folder.glob("*.tsv"))
    bases = {names[0].partition("_")[0] for names in order.values()}
    others = [word for word in order if word in bases and not (folder / f"{word}.tsv").is_file()]
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                text = row["sentence"].replace("_", " ")
                start, end = (len(text.encode()[: int(row[name])].decode()) for name in ("start", "end"))
                if row["wordid"] in order.get(row["homograph"], ()):
                    yield row["homograph"], row["wordid"], f"{text[:start]}_{text[start:end]}_{text[end:]}"
                for word in others:
                    if match := re.search(rf"\b{word}\b", text):
                        yield word, order[word][0], f"{text[: match.start()]}_{word}_{text[match.end() :]}"


def patterns(content: Mapping[str, Any], order: Mapping[str, Sequence[str]]) -> Iterator[Reading]:
    """Draw sentences from a word's own patterns, and from frames for readings that have none."""
    draw = random.Random(0)
    for word, readings in order.items():
        own = content["words"].get(word, {})
        drawn = {
            reading: [(own.get(reading, []), _PER_PATTERN)]
            + [(frames, _PER_FRAME) for frames in _frames(word, reading, content["frames"])]
            for reading in readings
        }
        if not all(any(lines for lines, _ in groups) for groups in drawn.values()):
            continue  # a reading without sentences would lose to one with many
        for reading, groups in drawn.items():
            has_names = reading.endswith(("_geo", "_nam")) or reading == "august"
            written = word.capitalize() if has_names else word
            for lines, count in groups[: 1 if set(own) == set(readings) else None]:
                for line in lines:
                    for text in _expansions(line, count, draw):
                        yield word, reading, text.replace("_", f"_{written}_")


def _frames(word: str, reading: str, frames: Mapping[str, Sequence[str]]) -> list[Sequence[str]]:
    """Return the frames of a reading's parts of speech; none if its name does not tell them apart."""
    kinds = reading.partition("_")[2].split("-")
    if word in ("aged", "blessed", "learned") or {"nou", "vrb"} <= set(kinds):
        return []
    if word.endswith("s") and not word.endswith("ss"):
        kinds = [{"nou": "plural", "vrb": "third"}.get(kind, "") for kind in kinds]
    return [frames[kind] for kind in kinds if kind in frames] if len(kinds) == 1 or "adj" in kinds else []


def _expansions(pattern: str, count: int, draw: random.Random) -> list[str]:
    """Draw different sentences, with the word once, from a pattern with choices {a|b}."""
    texts: dict[str, None] = {}
    for _ in range(4 * count):
        text = re.sub(r"\{([^{}]*)\}", lambda match: draw.choice(match[1].split("|")), pattern)
        text = " ".join(text.split())
        if text.count("_") == 1:
            texts[text[0].upper() + text[1:]] = None
    return list(texts)[:count]


def tag(readings: Iterable[Reading], file: FrontEndFile, weight: float = 1.0) -> Iterator[Sentence]:
    """Tag the sentences that have the word as a token of its own."""
    tokenizer, tagger = Tokenizer(file.tokenizer), Tagger(file.tagger)
    for word, reading, marked in readings:
        before, written, after = marked.split("_")
        text = before + (written if before else written[0].upper() + written[1:]) + after
        pieces = list(tokenizer(text))
        tags, states = tagger(pieces)
        for place, piece in enumerate(pieces):
            if piece.start == len(before) and piece.text.lower() == word:
                texts = [piece.text for piece in pieces]
                yield Sentence(word, reading, place, texts, tags, states, weight)


_hash = cache(hash_text)


def _named(sentence: Sentence) -> NDArray[np.float32]:
    counts = np.zeros(_BUCKETS, np.float32)
    lower = [text.lower() for text in sentence.texts]
    for name in names(sentence.place, sentence.texts[sentence.place], lower, sentence.tags):
        counts[_hash(name) % _BUCKETS] += 1
    return counts


def _minimize(loss: Callable[[], torch.Tensor], parameters: Sequence[torch.Tensor]) -> None:
    optimizer = torch.optim.LBFGS(parameters, max_iter=40, line_search_fn="strong_wolfe")

    def closure() -> float:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return float(value.detach())

    optimizer.step(closure)


def verb_weights(
    features: torch.Tensor, verb: torch.Tensor, weight: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Fit what all words have in common where they are verbs: weights (features,) and a bias (1,)."""
    slope = torch.zeros(features.shape[1], dtype=features.dtype, requires_grad=True)
    bias = torch.zeros(1, dtype=features.dtype, requires_grad=True)
    cost = torch.nn.functional.binary_cross_entropy_with_logits
    _minimize(
        lambda: (
            cost(features @ slope + bias, verb, weight=weight / weight.mean())
            + _SHARED_DECAY * slope.square().sum()
        ),
        [slope, bias],
    )
    return slope.detach(), bias.detach()


def reading_weights(
    features: torch.Tensor, readings: torch.Tensor, weight: torch.Tensor, count: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Fit the softmax regression of one word: weights (count, features) and biases (count,)."""
    kernel = features @ features.T
    dual = torch.zeros(len(features), count, dtype=features.dtype, requires_grad=True)
    bias = torch.zeros(count, dtype=features.dtype, requires_grad=True)

    def loss() -> torch.Tensor:
        fitted = kernel @ dual
        costs = torch.nn.functional.cross_entropy(fitted + bias, readings, reduction="none")
        return ((costs * weight).sum() + _DECAY * (dual * fitted).sum()) / weight.sum()

    _minimize(loss, [dual, bias])
    return (features.T @ dual).T.detach(), bias.detach()


def _balanced(weight: torch.Tensor, readings: torch.Tensor) -> torch.Tensor:
    """Raise the weights (sentences,) of a word's rare readings."""
    totals = torch.zeros(int(readings.max()) + 1, dtype=weight.dtype).index_add(0, readings, weight)
    return weight * (totals.max() / totals[readings]) ** _BALANCE


def learn(examples: Sequence[Sentence], order: Mapping[str, Sequence[str]]) -> dict[str, NDArray[Any]]:
    """Return the tensors of HomographData.

    Args:
        examples: Sentences to train on.
        order: Words with the names of their readings.
    """
    states = np.stack([neighbor_states(example.place, example.states) for example in examples])
    mean, deviation = states.mean(axis=0), states.std(axis=0) + 1e-3
    named = np.stack([_named(example) for example in examples])
    both = torch.tensor(np.hstack([(states - mean) / deviation, named]))
    entries = list(dict.fromkeys(map(tuple, order.values())))  # a word and its forms have one
    entry = np.array([entries.index(tuple(order[example.word])) for example in examples])
    readings = torch.tensor([order[example.word].index(example.reading) for example in examples])
    weight = torch.tensor([example.weight for example in examples])
    places = [torch.from_numpy(np.flatnonzero(entry == index)) for index in range(len(entries))]
    for place in places:
        weight[place] = _balanced(weight[place], readings[place])
    verbs = {word for word in order if any(reading.endswith("_vrb") for reading in order[word])}
    verbal = torch.tensor([example.word in verbs for example in examples])
    is_verb = torch.tensor([float(example.reading.endswith("_vrb")) for example in examples])
    shape = torch.ones(both.shape[1])
    shape[: states.shape[1]] = 0.3
    shared, level = verb_weights((both * shape)[verbal], is_verb[verbal], weight[verbal])
    shared *= shape
    shape[: states.shape[1]] = _STATES
    shape[states.shape[1] :] = _NAMES
    rows, biases = [], []
    for kinds, place in zip(entries, places, strict=True):
        own, count = both[place], len(kinds)
        if len(set(readings[place].tolist())) == 1:  # features of other verbs decide
            verb = torch.tensor([float(reading.endswith("_vrb")) for reading in kinds])
            rows.append((verb[:, None] * shared).double())
            biases.append((verb * level).double())
            continue
        features = torch.hstack([own * shape, _VERB * (own @ shared)[:, None]]).double()
        weights, bias = reading_weights(features, readings[place], weight[place].double(), count)
        rows.append(weights[:, :-1] * shape + _VERB * weights[:, -1:] * shared)
        biases.append(bias)
    weights = torch.cat(rows).numpy()
    scales = np.maximum(np.abs(weights).max(axis=1), 1e-9) / 127
    return {
        "mean": mean, "deviation": deviation, "scales": scales.astype(np.float32),
        "weights": (np.rint(weights / scales[:, None]) + 128).astype(np.uint8),
        "biases": torch.cat(biases).numpy().astype(np.float32),
    }  # fmt: skip


def right(model: Homographs, sentences: Iterable[Sentence]) -> int:
    """Count the sentences whose homograph gets its reading."""
    return sum(
        model(sentence.texts, sentence.tags, sentence.states)[sentence.place] == sentence.reading
        for sentence in sentences
    )


def main(data: Path, front_end: Path) -> None:
    """Train, measure, write."""
    torch.set_num_threads(1)  # the matrices are small
    file = FrontEndFile.open(front_end / FILES[0])
    order = {word: list(readings) for word, readings in read_homographs().items()}
    train, held_out = (list(tag(wikipedia(data / "data" / part, order), file)) for part in ("train", "eval"))
    content = yaml.safe_load(PATTERNS.read_text(encoding="utf-8"))
    written = list(tag(patterns(content, order), file, _PATTERN_WEIGHT))
    arrays = learn([*train, *written], order)
    rows = number_readings()
    model = Homographs(
        HomographData(**arrays, words={word: (rows[kinds[0]], kinds) for word, kinds in order.items()})
    )
    for part, sentences in (("train", train), ("patterns", written), ("eval", held_out)):
        count = right(model, sentences)
        print(f"{part}: {count} of {len(sentences)}, {count / len(sentences):.2%}")
    fetched = json.loads((front_end / FILES[2]).read_text(encoding="utf-8"))
    learned_with = np.frombuffer(bytes.fromhex(fetched["tagger"][TAGGER_FILES[0]]), np.uint8)
    weights = {name: arrays[name] for name in HOMOGRAPH_TENSORS} | {TAGGER: learned_with}
    write_arrays(WEIGHTS, weights, {"notice": NOTICES["homographs"]})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
