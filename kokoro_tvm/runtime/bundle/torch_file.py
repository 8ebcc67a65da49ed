"""One tensor as a `.pt` file, as `torch.save` writes it: read and written as data, without torch.

Such a file is a ZIP archive, not compressed, with a pickle that refers to the bytes of a storage beside it. A
pickle is a program; what is run of it here are the opcodes that make one tensor, and no function by its name.
Source: PyTorch 2, torch/serialization.py (`_save`), torch/_utils.py (`_rebuild_tensor_v2`); Python,
Lib/pickletools.py.
"""

from __future__ import annotations

import io
import math
import pickle
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from zipfile import ZipFile

__all__ = ["read_tensor", "write_tensor"]

_ROOT = "voice"
_DATE = (1980, 1, 1, 0, 0, 0)  # equal voices are equal files
_SAVE = "save one tensor with torch.save(tensor, FILE)"
_STORAGES = {"HalfStorage": "f2", "FloatStorage": "f4", "DoubleStorage": "f8"}
_MOST = 1 << 24  # values of a tensor, however few its file has
_VALUES = frozenset(["BINUNICODE", "SHORT_BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"])
_CONSTANTS = {"NEWTRUE": True, "NEWFALSE": False, "NONE": None}
_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_REBUILD = ("torch._utils", "_rebuild_tensor_v2")
_PARAMETER = ("torch._utils", "_rebuild_parameter")
_HOOKS = ("collections", "OrderedDict")


@dataclass(frozen=True)
class _Named:
    """What a pickle calls by its name, which nobody looks up."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


_MARK = object()


def read_tensor(data: bytes) -> NDArray[Any]:
    """The tensor of a file's bytes: float16, float32 or float64, of any shape.

    Raises:
        ValueError: the file is no archive of torch's, is compressed, or holds anything else than one tensor;
            the message goes on after the file's name.
    """
    from zipfile import ZIP_STORED, BadZipFile, ZipFile

    if not data.startswith(b"PK"):
        raise ValueError(f"is no file of PyTorch 1.6 or later; {_SAVE}")
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            if any(each.compress_type != ZIP_STORED for each in archive.infolist()):
                raise ValueError(f"is compressed, which no file of torch.save is; {_SAVE}")
            names = [name for name in archive.namelist() if name.endswith("/data.pkl")]
            if len(names) != 1:
                raise ValueError(f"is a ZIP archive, but none of torch.save; {_SAVE}")
            root = names[0].removesuffix("data.pkl")
            return _unpickled(archive.read(names[0]), lambda key: _storage(archive, root, key))
    except (BadZipFile, struct.error, EOFError, OSError, LookupError, OverflowError, RuntimeError) as error:
        raise ValueError("is damaged; copy it again") from error


def _storage(archive: ZipFile, root: str, key: str) -> tuple[bytes, str]:
    """Bytes of a storage, and their order as numpy writes it."""
    order = archive.read(f"{root}byteorder") if f"{root}byteorder" in archive.namelist() else b"little"
    return archive.read(f"{root}data/{key}"), ">" if order == b"big" else "<"


def _unpickled(program: bytes, storage: Callable[[str], tuple[bytes, str]]) -> NDArray[Any]:
    """What a pickle makes, which has to be one tensor. Raises ValueError for every other opcode."""
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    try:
        for name, argument in _opcodes(program):
            if name in ("PROTO", "FRAME"):
                continue
            if name == "STOP":
                break
            if name in _VALUES:
                stack.append(argument)
            elif name in _CONSTANTS:
                stack.append(_CONSTANTS[name])
            elif name == "MARK":
                stack.append(_MARK)
            elif name == "GLOBAL":
                stack.append(_Named(*argument.split(" ", 1)))
            elif name == "STACK_GLOBAL":
                stack[-2:] = [_Named(*stack[-2:])]
            elif name in _TUPLES:
                count = _TUPLES[name]
                stack[len(stack) - count :] = [tuple(stack[len(stack) - count :])]
            elif name == "TUPLE":
                start = max(place for place, value in enumerate(stack) if value is _MARK)
                stack[start:] = [tuple(stack[start + 1 :])]
            elif name in ("BINPUT", "LONG_BINPUT"):
                memo[argument] = stack[-1]
            elif name == "MEMOIZE":
                memo[len(memo)] = stack[-1]
            elif name in ("BINGET", "LONG_BINGET"):
                stack.append(memo[argument])
            elif name == "BINPERSID":
                stack[-1] = _values(stack[-1], storage)
            elif name == "REDUCE":
                stack[-2:] = [_called(*stack[-2:])]
            elif name in ("EMPTY_DICT", "EMPTY_LIST"):
                what = "a dictionary" if name == "EMPTY_DICT" else "a list"
                raise ValueError(f"holds {what}, not one tensor; {_SAVE}")
            else:
                raise ValueError(f"has {name} in its pickle, which no tensor needs; {_SAVE}")
    except (LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"has a pickle that makes no tensor; {_SAVE}") from error
    if len(stack) != 1 or not isinstance(stack[0], np.ndarray) or stack[0].dtype.hasobject:
        raise ValueError(f"has a pickle that makes no tensor; {_SAVE}")
    return stack[0]


def _opcodes(program: bytes) -> Iterator[tuple[str, Any]]:
    """Names and arguments of a pickle's opcodes; nothing is run."""
    import pickletools  # for .pt files alone

    try:
        for opcode, argument, _ in pickletools.genops(program):
            yield opcode.name, argument
    except ValueError as error:  # an unknown opcode, or the pickle is cut short
        raise ValueError("has a damaged pickle; copy it again") from error


def _values(reference: Any, storage: Callable[[str], tuple[bytes, str]]) -> NDArray[Any]:
    """The values of a storage, (count,)."""
    word, kind, key, _, count = reference
    if word != "storage" or not isinstance(kind, _Named) or not isinstance(key, str):
        raise TypeError
    if kind.name not in _STORAGES or kind.module != "torch":
        raise ValueError(f"has values of {kind}, not float32; save tensor.float()")
    content, order = storage(key)
    dtype = np.dtype(order + _STORAGES[kind.name])
    if len(content) != count * dtype.itemsize:
        raise ValueError(f"has {len(content)} bytes of values where {count * dtype.itemsize} should be")
    return np.frombuffer(content, dtype)


def _called(function: Any, arguments: Any) -> Any:
    """What a call in a pickle stands for: none is made."""
    if not isinstance(function, _Named):
        raise TypeError
    if (function.module, function.name) == _HOOKS and arguments == ():
        return {}
    if (function.module, function.name) == _PARAMETER:
        return arguments[0]
    if (function.module, function.name) != _REBUILD:
        raise ValueError(f"would call {function}, which is not done: a voice is data; {_SAVE}")
    values, offset, shape, strides = arguments[:4]
    if not isinstance(values, np.ndarray) or not all(type(n) is int for n in (offset, *shape, *strides)):
        raise TypeError
    least = min((offset, *shape, *strides))
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if least < 0 or 0 in shape or last >= len(values) or math.prod(shape) > _MOST:
        raise ValueError("has a tensor that reaches beyond its values; copy it again")
    steps = [stride * values.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(values[offset:], shape, steps, writeable=False)


def write_tensor(values: NDArray[np.float32]) -> bytes:
    """The file of a tensor, float32, which `torch.load` and Kokoro's own pipeline read."""
    import zipfile  # a server's start does not wait for it

    strides = tuple(math.prod(values.shape[place + 1 :]) for place in range(values.ndim))
    content = {
        "data.pkl": _pickled(values.shape, strides),
        "byteorder": b"little",
        "data/0": np.ascontiguousarray(values, "<f4").tobytes(),
        "version": b"3\n",
    }
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, part in content.items():
            archive.writestr(zipfile.ZipInfo(f"{_ROOT}/{name}", _DATE), part)
    return made.getvalue()


def _pickled(shape: tuple[int, ...], strides: tuple[int, ...]) -> bytes:
    """The pickle of a tensor whose values are storage "0", by its opcodes: its classes are torch's."""
    values = math.prod(shape)
    storage = _tuple(
        _text("storage"), _global("torch", "FloatStorage"), _text("0"), _text("cpu"), _value(values)
    )
    hooks = _global(*_HOOKS) + pickle.EMPTY_TUPLE + pickle.REDUCE
    arguments = _tuple(
        storage + pickle.BINPERSID,
        _value(0),  # where in the storage it begins
        _value(shape),
        _value(strides),
        _value(False),  # whether it needs gradients
        hooks,
    )
    return pickle.PROTO + b"\x02" + _global(*_REBUILD) + arguments + pickle.REDUCE + pickle.STOP


def _global(module: str, name: str) -> bytes:
    return pickle.GLOBAL + f"{module}\n{name}\n".encode()


def _tuple(*items: bytes) -> bytes:
    return pickle.MARK + b"".join(items) + pickle.TUPLE


def _text(text: str) -> bytes:
    return pickle.BINUNICODE + len(text).to_bytes(4, "little") + text.encode()


def _value(value: int | bool | tuple[int, ...]) -> bytes:
    """Opcodes of a plain value, without the protocol before and the stop after them."""
    return pickle.dumps(value, 2)[2:-1]
