"""A voice as a `.pt` file, which `torch.load` and Kokoro's own pipeline read, written without torch.

Such a file is a ZIP archive, not compressed, with a pickle that refers to the bytes of a storage beside it.
Source: PyTorch 2, torch/serialization.py (`_save`) and torch/_utils.py (`_rebuild_tensor_v2`).
"""

from __future__ import annotations

import io
import pickle

import numpy as np

from kokoro_tvm.runtime.session.model import Floats

__all__ = ["voice_file"]

_ROOT = "voice"
_DATE = (1980, 1, 1, 0, 0, 0)  # equal voices are equal files


def voice_file(table: Floats) -> bytes:
    """The file of a style table float32 (rows, width): a tensor float32 (rows, 1, width), as Kokoro's are."""
    import zipfile  # a server's start does not wait for it

    rows, width = table.shape
    data = np.ascontiguousarray(table, "<f4").tobytes()
    content = {
        "data.pkl": _pickled((rows, 1, width), (width, width, 1)),
        "byteorder": b"little",
        "data/0": data,
        "version": b"3\n",
    }
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, part in content.items():
            archive.writestr(zipfile.ZipInfo(f"{_ROOT}/{name}", _DATE), part)
    return made.getvalue()


def _pickled(shape: tuple[int, ...], strides: tuple[int, ...]) -> bytes:
    """The pickle of a tensor whose values are storage "0", by its opcodes: its classes are torch's."""
    values = int(np.prod(shape))
    storage = _tuple(
        _text("storage"), _global("torch", "FloatStorage"), _text("0"), _text("cpu"), _value(values)
    )
    hooks = _global("collections", "OrderedDict") + pickle.EMPTY_TUPLE + pickle.REDUCE
    arguments = _tuple(
        storage + pickle.BINPERSID,
        _value(0),  # where in the storage it begins
        _value(shape),
        _value(strides),
        _value(False),  # whether it needs gradients
        hooks,
    )
    rebuild = _global("torch._utils", "_rebuild_tensor_v2")
    return pickle.PROTO + b"\x02" + rebuild + arguments + pickle.REDUCE + pickle.STOP


def _global(module: str, name: str) -> bytes:
    return pickle.GLOBAL + f"{module}\n{name}\n".encode()


def _tuple(*items: bytes) -> bytes:
    return pickle.MARK + b"".join(items) + pickle.TUPLE


def _text(text: str) -> bytes:
    return pickle.BINUNICODE + len(text).to_bytes(4, "little") + text.encode()


def _value(value: int | bool | tuple[int, ...]) -> bytes:
    """Opcodes of a plain value, without the protocol before and the stop after them."""
    return pickle.dumps(value, 2)[2:-1]
