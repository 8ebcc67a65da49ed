"""Train the network of letter-to-sound, for both Englishes at once.

    python docs/letter_network.py LEXICON CMUDICT

It writes kokoro_tvm/model/front_end/letter_network.safetensors. LEXICON: the folder `misaki/data`. CMUDICT:
the file cmudict.dict. The words that unknown_words.py holds out are not trained on, so that it measures the
network of the bundles. Training takes 3 minutes of a core.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from unknown_words import split_words

from kokoro_tvm.model.front_end.alignment import align
from kokoro_tvm.model.front_end.network_file import WEIGHTS
from kokoro_tvm.model.front_end.pronunciations import read_cmudict
from kokoro_tvm.model.safetensors_file import write_arrays
from kokoro_tvm.runtime.text.frontend.joint_ngrams import COST_STEPS

_ENGLISHES = ("us", "gb")
_CHANNELS, _DISTANCES = 96, (1, 2, 4, 1)
_STEPS, _BATCH = 2600, 4096  # letters of a batch
_RATE, _WARM_UP, _DROPOUT = 4e-3, 200, 0.05
_FEWEST = 20  # occurrences of a graphone that the network learns
_SHARE = 0.7  # of the network in the costs; n-grams have 1
_AROUND, _CODES = 2, 27
_STATE_BITS = 8  # behind the point
_IGNORED = -100

Graphone = tuple[str, str]
"""A letter and its phonemes."""


class Network(nn.Module):
    """The network of `runtime.text.frontend.letter_network` with floats."""

    def __init__(self, graphones: Sequence[int]) -> None:
        """Create it with random weights for numbers of graphones."""
        super().__init__()
        self.embedding = nn.Parameter(torch.randn(2 * _AROUND + 1, _CODES, _CHANNELS) * 0.4)
        fan_in = 3 * _CHANNELS
        self.weights = nn.Parameter(torch.randn(len(_DISTANCES), fan_in, _CHANNELS) / fan_in**0.5)
        self.biases = nn.Parameter(torch.zeros(len(_DISTANCES) + 1, _CHANNELS))
        self.scores = nn.ParameterList(torch.randn(_CHANNELS, count) * 0.05 for count in graphones)
        self.score_biases = nn.ParameterList(torch.zeros(count) for count in graphones)

    def forward(self, letters: Tensor) -> Tensor:
        """Return the states (words, letters, channels) of words of one length (words, letters)."""
        length = letters.shape[1]
        padded = functional.pad(letters, (_AROUND, _AROUND))
        embedded = [table[padded[:, place : place + length]] for place, table in enumerate(self.embedding)]
        state = functional.relu(sum(embedded, self.biases[0]))
        for weights, bias, distance in zip(self.weights, self.biases[1:], _DISTANCES, strict=True):
            dropped = functional.dropout(state, _DROPOUT, self.training)
            around = functional.pad(dropped, (0, 0, distance, distance))
            three = torch.cat([around[:, place * distance :][:, :length] for place in range(3)], 2)
            state = state + functional.relu(three @ weights + bias)
        return state


def main(lexicon: Path, cmudict: Path) -> None:
    """Train and write the network."""
    phones = read_cmudict(cmudict)
    words = [align_words(split_words(lexicon, phones, variant).training_words()) for variant in _ENGLISHES]
    graphones = [list_graphones(aligned.values()) for aligned in words]
    network = train(words, graphones)
    write_arrays(WEIGHTS, quantize(network.eval(), graphones), {"source": "docs/letter_network.py"})


def train(words: Sequence[Mapping[str, list[Graphone]]], graphones: Sequence[list[Graphone]]) -> Network:
    """Return the network, trained on words with their graphones in each English."""
    torch.manual_seed(0)
    network = Network([len(each) for each in graphones])
    optimizer = torch.optim.Adam(network.parameters(), betas=(0.9, 0.98))
    batches = draw_batches(words, graphones)
    for step in range(_STEPS):
        for group in optimizer.param_groups:
            group["lr"] = _RATE * min(1, step / _WARM_UP) * (1 - step / _STEPS)
        letters, labels = next(batches)
        loss = compute_loss(network, graphones, letters, labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 99:
            print(f"step {step + 1}: loss {loss.item():.3f}", flush=True)
    return network


def align_words(words: Sequence[tuple[str, str]]) -> dict[str, list[Graphone]]:
    """Return the graphones of the words that can be aligned."""
    return {
        spelling: list(zip(spelling, parts, strict=True))
        for (spelling, _), parts in zip(words, align(words), strict=True)
        if parts
    }


def list_graphones(words: Iterable[list[Graphone]]) -> list[Graphone]:
    """Return the sorted graphones that are frequent."""
    counts = Counter(pair for word in words for pair in word)
    return sorted(pair for pair, count in counts.items() if count >= _FEWEST)


def draw_batches(
    words: Sequence[Mapping[str, list[Graphone]]], graphones: Sequence[list[Graphone]]
) -> Iterator[tuple[Tensor, list[Tensor]]]:
    """Yield letters (words, letters) of words of one length, and their graphones by English."""
    random = np.random.default_rng(0)
    numbers = [{pair: number for number, pair in enumerate(pairs)} for pairs in graphones]
    lengths: dict[int, list[str]] = {}
    for word in sorted({word for aligned in words for word in aligned}):
        lengths.setdefault(len(word), []).append(word)

    def label(word: str, english: int) -> list[int]:
        pairs = words[english].get(word)
        known = numbers[english]
        return [_IGNORED] * len(word) if pairs is None else [known.get(pair, _IGNORED) for pair in pairs]

    tensors = {
        length: (
            torch.tensor([[ord(letter) - 96 for letter in word] for word in group]),
            [torch.tensor([label(word, english) for word in group]) for english in range(len(words))],
        )
        for length, group in lengths.items()
    }
    while True:
        batches: list[tuple[int, NDArray[np.int64]]] = []
        for length, (letters, _) in tensors.items():
            order, size = random.permutation(len(letters)), max(32, _BATCH // length)
            batches += [(length, order[start : start + size]) for start in range(0, len(order), size)]
        for place in random.permutation(len(batches)):
            length, rows = batches[place]
            letters, labels = tensors[length]
            yield letters[rows], [each[rows] for each in labels]


def compute_loss(
    network: Network, graphones: Sequence[list[Graphone]], letters: Tensor, labels: Sequence[Tensor]
) -> Tensor:
    """Return the mean cross entropy of the graphones among those of their letter."""
    states, flat = network(letters).reshape(-1, _CHANNELS), letters.reshape(-1)
    losses = []
    for code in flat.unique().tolist():
        rows = flat == code
        for english, pairs in enumerate(graphones):
            columns = [number for number, (letter, _) in enumerate(pairs) if letter == chr(code + 96)]
            known = labels[english].reshape(-1)[rows] - columns[0]
            known = torch.where(known < 0, _IGNORED, known)
            span = slice(columns[0], columns[-1] + 1)
            scores = states[rows] @ network.scores[english][:, span] + network.score_biases[english][span]
            losses.append(functional.cross_entropy(scores, known, reduction="sum", ignore_index=_IGNORED))
    return torch.stack(losses).sum() / (len(graphones) * len(flat))


def quantize(network: Network, graphones: Sequence[list[Graphone]]) -> dict[str, NDArray[Any]]:
    """Return the tensors of the file: whole numbers, and the bits to shift."""
    embedding, bits = round_weights(network.embedding)
    tensors: dict[str, NDArray[Any]] = {"embedding": embedding}
    layers, weights = [(0, _STATE_BITS - bits)], []
    biases = [network.biases[0] * 2.0**_STATE_BITS]
    for matrix, bias, distance in zip(network.weights, network.biases[1:], _DISTANCES, strict=True):
        rounded, bits = round_weights(matrix)
        weights.append(rounded.reshape(3, _CHANNELS, _CHANNELS))
        biases.append(bias * 2.0 ** (_STATE_BITS + bits))
        layers.append((distance, bits))
    unit = _SHARE * COST_STEPS / np.log(2)
    scores = [matrix * unit for matrix in network.scores]
    bits = min(round_weights(matrix)[1] for matrix in scores)
    layers.append((0, _STATE_BITS + bits))
    tensors |= {
        "weights": np.stack(weights),
        "biases": torch.stack(biases).round().int().detach().numpy(),
        "layers": np.array(layers, np.int32),
    }
    for english, pairs, matrix, bias in zip(_ENGLISHES, graphones, scores, network.score_biases, strict=True):
        tensors |= {
            f"{english}.weights": (matrix.T * 2.0**bits).round().to(torch.int8).detach().contiguous().numpy(),
            f"{english}.biases": (bias * unit * 2.0 ** (_STATE_BITS + bits)).round().int().detach().numpy(),
            f"{english}.graphones": np.frombuffer("\n".join(map("".join, pairs)).encode(), np.uint8),
        }
    return dict(sorted(tensors.items(), key=lambda item: -item[1].itemsize))


def round_weights(weights: Tensor) -> tuple[NDArray[np.int8], int]:
    """Return weights as whole numbers below 128, and the bits behind their point."""
    bits = int(np.floor(np.log2(127 / weights.abs().max().item())))
    return (weights * 2.0**bits).round().to(torch.int8).detach().numpy(), bits


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
