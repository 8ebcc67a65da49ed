"""What the reproductions share: lines of PyTorch through TVM, and code that may take its process down."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import tvm
from torch import nn
from tvm import relax
from tvm.relax.frontend.torch import from_exported_program

TVM = "TVM 0.27.0.post1"


UNKNOWN = "no upstream issue known"
TVM_ISSUES = "https://github.com/apache/tvm/issues"


@contextmanager
def broken(what: str, error: type[Exception], message: str, issue: str = UNKNOWN) -> Iterator[None]:
    """Fails unless the block raises `error` with a message that matches `message`, as TVM does today."""
    try:
        yield
    except error as result:
        if not re.search(message, str(result)):
            raise AssertionError(f"{TVM} fails in another way than it did: {what}; {issue}") from result
    else:
        raise AssertionError(changed(what, issue))


def changed(what: str, issue: str = UNKNOWN) -> str:
    """What a test says when TVM no longer does wrong what it did."""
    return f"{TVM} has changed: {what}; {issue}. Remove what is here because of it, and this test."


class Lines(nn.Module):
    def __init__(self, forward: Callable[..., Any]) -> None:
        super().__init__()
        self._lines = forward

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self._lines(*inputs)


def imported(forward: Callable[..., Any] | nn.Module, *inputs: torch.Tensor, dynamic: Any = None) -> Any:
    """`forward` of the inputs as a Relax module; dynamic: as torch.export takes it, one entry an input."""
    module = forward if isinstance(forward, nn.Module) else Lines(forward)
    shapes = None if dynamic is None else {"inputs": tuple(dynamic)} if module is not forward else dynamic
    with torch.no_grad():
        return from_exported_program(torch.export.export(module.eval(), inputs, dynamic_shapes=shapes))


def computed(module: Any, *inputs: np.ndarray) -> np.ndarray:
    """The first result of a Relax module's `main`."""
    machine = relax.VirtualMachine(relax.build(module, "llvm", relax_pipeline="default"), tvm.cpu())
    result = machine["main"](*(tvm.runtime.tensor(value) for value in inputs))
    return (result if hasattr(result, "numpy") else result[0]).numpy()


def in_child(code: str, timeout: float = 120.0) -> subprocess.CompletedProcess[str]:
    """Runs code that may crash; raises subprocess.TimeoutExpired."""
    return subprocess.run(
        [sys.executable, "-c", _QUIETLY + code], capture_output=True, text=True, timeout=timeout, check=False
    )


# TVM's own handler takes half a minute to tell the names of the functions a crash was in.
_QUIETLY = "import signal, tvm; signal.signal(signal.SIGSEGV, signal.SIG_DFL)\n"
