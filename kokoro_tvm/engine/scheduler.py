"""A Dask scheduler, whose workers run what this process submits."""

from __future__ import annotations

from typing import Any

from kokoro_tvm.errors import BuildError, InputError

__all__ = ["connect"]

_PATIENCE = 20.0  # seconds until the scheduler has to answer


def connect(address: str) -> Any:
    """A client of the scheduler at `address`, to be closed.

    Raises BuildError where it cannot be reached, InputError without the library to do it.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError("a Dask scheduler needs the extra `dask`: pip install 'kokoro-tvm[dask]'") from error
    try:
        return Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise BuildError(
            f"the scheduler {address} cannot be reached: {error}; `dask scheduler` starts one"
        ) from error
