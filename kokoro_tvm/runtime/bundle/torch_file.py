"""Reader and writer of a tensor in a `.pt` file of `torch.save`, without torch.

The file is an uncompressed ZIP archive with a pickle that refers to the bytes of a storage beside it. A
pickle is a program. The reader interprets the opcodes that build one tensor; it imports and calls nothing.
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


_ROOT = "voice"
_DATE = (1980, 1, 1, 0, 0, 0)  # equal voices are equal files
_SAVE = "save one tensor with torch.save(tensor, FILE)"
_STORAGES = {"HalfStorage": "f2", "FloatStorage": "f4", "DoubleStorage": "f8"}
_MAX_VALUES = 1 << 24  # of a tensor; strides of 0 make many values of a small file
_VALUES = frozenset(["BINUNICODE", "SHORT_BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"])
_CONSTANTS = {"NEWTRUE": True, "NEWFALSE": False, "NONE": None}
_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_REBUILD = ("torch._utils", "_rebuild_tensor_v2")
_PARAMETER = ("torch._utils", "_rebuild_parameter")
_HOOKS = ("collections", "OrderedDict")


@dataclass(frozen=True)
class _Global:
    """A global of a pickle, which is not imported."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


_MARK = object()


def read_tensor(data: bytes) -> NDArray[Any]:
    """Read a tensor: float16, float32 or float64, of any shape.

    Raises:
        ValueError: the file is no archive of torch, is compressed, or holds anything but one tensor; the
            message continues a sentence that begins with the file's name.
    """
    from zipfile import ZIP_STORED, BadZipFile, ZipFile

    if not data.startswith(b"PK"):
        raise ValueError(f"is no file of PyTorch 1.6 or later; {_SAVE}")
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            if any(info.compress_type != ZIP_STORED for info in archive.infolist()):
                raise ValueError(f"is compressed, which no file of torch.save is; {_SAVE}")
            names = [name for name in archive.namelist() if name.endswith("/data.pkl")]
            if len(names) != 1:
                raise ValueError(f"is a ZIP archive, but none of torch.save; {_SAVE}")
            root = names[0].removesuffix("data.pkl")
            return _interpret(archive.read(names[0]), lambda key: _read_storage(archive, root, key))
    except (BadZipFile, struct.error, EOFError, OSError, LookupError, OverflowError, RuntimeError) as error:
        raise ValueError("is damaged; copy it again") from error


def _read_storage(archive: ZipFile, root: str, key: str) -> tuple[bytes, str]:
    """Return the bytes of a storage, and their order as numpy writes it."""
    order = archive.read(f"{root}byteorder") if f"{root}byteorder" in archive.namelist() else b"little"
    return archive.read(f"{root}data/{key}"), ">" if order == b"big" else "<"


def _interpret(program: bytes, storage: Callable[[str], tuple[bytes, str]]) -> NDArray[Any]:
    """Return the tensor that a pickle builds; raises ValueError for opcodes that no tensor needs."""
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
                stack.append(_Global(*argument.split(" ", 1)))
            elif name == "STACK_GLOBAL":
                stack[-2:] = [_Global(*stack[-2:])]
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
                stack[-1] = _load_values(stack[-1], storage)
            elif name == "REDUCE":
                stack[-2:] = [_reduce(*stack[-2:])]
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
    """Yield names and arguments of a pickle's opcodes."""
    import pickletools  # slow to import

    try:
        for opcode, argument, _ in pickletools.genops(program):
            yield opcode.name, argument
    except ValueError as error:  # an unknown opcode, or the pickle is cut short
        raise ValueError("has a damaged pickle; copy it again") from error


def _load_values(reference: Any, storage: Callable[[str], tuple[bytes, str]]) -> NDArray[Any]:
    """Return the values of a storage, (count,)."""
    tag, kind, key, _, count = reference
    if tag != "storage" or not isinstance(kind, _Global) or not isinstance(key, str):
        raise TypeError
    if kind.name not in _STORAGES or kind.module != "torch":
        raise ValueError(f"has values of {kind}, not float32; save tensor.float()")
    content, order = storage(key)
    dtype = np.dtype(order + _STORAGES[kind.name])
    if len(content) != count * dtype.itemsize:
        raise ValueError(f"has {len(content)} bytes of values where {count * dtype.itemsize} should be")
    return np.frombuffer(content, dtype)


def _reduce(function: Any, arguments: Any) -> Any:
    """Return the result of a call in a pickle, without making it."""
    if not isinstance(function, _Global):
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
    if least < 0 or 0 in shape or last >= len(values) or math.prod(shape) > _MAX_VALUES:
        raise ValueError("has a tensor that reaches beyond its values; copy it again")
    steps = [stride * values.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(values[offset:], shape, steps, writeable=False)


def write_tensor(values: NDArray[np.float32]) -> bytes:
    """Return the `.pt` file of a float32 tensor, which `torch.load` and Kokoro's own pipeline read."""
    import zipfile  # here, so that a server starts without it

    strides = tuple(math.prod(values.shape[axis + 1 :]) for axis in range(values.ndim))
    members = {
        "data.pkl": _pickle_tensor(values.size, values.shape, strides),
        "byteorder": b"little",
        "data/0": np.ascontiguousarray(values, "<f4").tobytes(),
        "version": b"3\n",
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(f"{_ROOT}/{name}", _DATE), content)
    return file.getvalue()


def _pickle_tensor(count: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> bytes:
    """Return the pickle of a tensor over storage "0", by its opcodes: its classes are torch's."""
    storage = _tuple(_text("storage"), b"ctorch\nFloatStorage\n", _text("0"), _text("cpu"), _number(count))
    sizes = (_tuple(*map(_number, numbers)) for numbers in (shape, strides))
    hooks = b"ccollections\nOrderedDict\n)R"
    arguments = _tuple(storage + pickle.BINPERSID, _number(0), *sizes, pickle.NEWFALSE, hooks)
    return pickle.PROTO + b"\x02ctorch._utils\n_rebuild_tensor_v2\n" + arguments + pickle.REDUCE + pickle.STOP


def _tuple(*items: bytes) -> bytes:
    return pickle.MARK + b"".join(items) + pickle.TUPLE


def _text(text: str) -> bytes:
    return pickle.BINUNICODE + len(text).to_bytes(4, "little") + text.encode()


def _number(value: int) -> bytes:
    return pickle.BININT + value.to_bytes(4, "little")
