"""A probe that tells within seconds whether a server can be reached."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request

PROBE_TIMEOUT_S = 5.0


def unreachable(url: str) -> str | None:
    """Return why a server does not answer within a few seconds, or None if it does, even with an error."""
    outcome: list[Exception | None] = []

    def ask() -> None:  # in a thread, because looking up a name has no timeout
        """Request the address and append None or the error to `outcome`."""
        try:
            with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=PROBE_TIMEOUT_S):
                outcome.append(None)
        except urllib.error.HTTPError:
            outcome.append(None)
        except (OSError, ValueError) as error:
            outcome.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(PROBE_TIMEOUT_S + 1.0)
    if not outcome:
        return f"{url} does not answer within {PROBE_TIMEOUT_S:.0f} s"
    return None if outcome[0] is None else f"{url} cannot be reached: {outcome[0]}"
