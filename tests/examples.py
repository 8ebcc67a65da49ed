"""How many examples property tests draw: few by day, all by night (`pytest --hypothesis-profile night`)."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

__all__ = ["examples", "night", "register"]

_ALL = 100


def register() -> None:
    """The profiles `day`, which is chosen, and `night`."""
    # How long an example takes says nothing about what is tested, and machines are busy at times.
    settings.register_profile(
        "night", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=_ALL
    )
    settings.register_profile("day", settings.get_profile("night"), max_examples=_ALL // 4)
    settings.load_profile("day")


def night() -> bool:
    """Whether all are drawn."""
    return settings().max_examples >= _ALL


def examples(most: int) -> int:
    """So many by night, a quarter of them by day."""
    return max(1, most * settings().max_examples // _ALL)
