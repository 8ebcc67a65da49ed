"""What clients under load request: sentences, and pages of them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

__all__ = ["WORKLOAD", "Workload"]

_PAGE_SHARE = 0.2  # of the requests
_PAGE = 18  # sentences, about a minute
_PAGES = 4
_SEED = 20


@dataclass(frozen=True)
class Workload:
    """Distinct texts, each of which is spoken alone once, so that later answers can be compared with it."""

    sentences: tuple[str, ...]
    pages: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.sentences, *self.pages)

    def requests(self, client: int) -> Iterator[str]:
        """The texts that a client requests one after another, without end; the same in every run."""
        draw = random.Random(_SEED + client)
        while True:
            page = self.pages and draw.random() < _PAGE_SHARE
            yield draw.choice(self.pages if page else self.sentences)


def _harvard() -> Workload:
    """The Harvard sentences, and pages of them in other orders."""
    lines = json.loads((files("kokoro_tvm.validation.measure") / "harvard.json").read_text(encoding="utf-8"))
    draw = random.Random(_SEED)
    return Workload(tuple(lines), tuple(" ".join(draw.sample(lines, _PAGE)) for _ in range(_PAGES)))


WORKLOAD = _harvard()
