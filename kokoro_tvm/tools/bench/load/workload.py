"""Texts that clients request under load: sentences, and pages of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from kokoro_tvm.validation.measure.intelligibility import SENTENCES

_PAGE_SHARE = 0.2  # of the requests
_SENTENCES_PER_PAGE = 18  # about a minute
_PAGES = 4
_SEED = 20


@dataclass(frozen=True)
class Workload:
    """Distinct texts; each is spoken alone once, and later answers are compared with that."""

    sentences: tuple[str, ...]
    pages: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """Sentences and pages."""
        return (*self.sentences, *self.pages)

    def requests(self, client: int) -> Iterator[str]:
        """Yield texts for a client without end, the same in every run."""
        draw = random.Random(_SEED + client)
        while True:
            is_page = self.pages and draw.random() < _PAGE_SHARE
            yield draw.choice(self.pages if is_page else self.sentences)


def _build_workload() -> Workload:
    """Build pages of shuffled Harvard sentences."""
    draw = random.Random(_SEED)
    pages = (" ".join(draw.sample(SENTENCES, _SENTENCES_PER_PAGE)) for _ in range(_PAGES))
    return Workload(SENTENCES, tuple(pages))


WORKLOAD = _build_workload()
