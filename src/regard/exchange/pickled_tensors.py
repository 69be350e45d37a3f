"""Tensors of pytorch_model.bin, without running it.

A pickle is a program. Here it is only read: `pickletools` takes it apart, the few opcodes that torch.save writes for
tensors make plain values, and everything else is refused. Nothing is imported, nothing is called, and torch is not
needed. Both containers are read: the archive of torch 1.6 and later, and the file of those before, which many OPUS-MT
models still have.
"""

import math
import pickletools
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from regard.errors import ModelError
from regard.folder.tensors import Tensors

_MAGIC = 0x1950A86A20F9469CFC6C  # first value of the older file
_KINDS = {"Float": "<f4", "Double": "<f8", "Half": "<f2", "BFloat16": "<u2"}
_KINDS |= {"Long": "<i8", "Int": "<i4", "Short": "<i2", "Char": "i1", "Byte": "u1", "Bool": "?"}
_NUM_WIDENED = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_LITERALS = ("BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT")
_DAMAGED = (ValueError, TypeError, LookupError, AttributeError, EOFError, OSError, zipfile.BadZipFile)


class _Name(str):
    """A name that the program would import."""


class _Storage(NamedTuple):
    kind: str
    key: str
    size: int

    @property
    def num_bytes(self) -> int:
        return self.size * np.dtype(_KINDS[self.kind]).itemsize


class _Tensor(NamedTuple):
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def array(self, content: bytes) -> np.ndarray:
        """The values in float32; the storage must hold all of them."""
        flat = np.frombuffer(content, _KINDS[self.storage.kind])
        last = self.offset + sum((n - 1) * step for n, step in zip(self.shape, self.strides, strict=True))
        if min(self.offset, *self.shape, *self.strides, 0) < 0 or max(math.prod(self.shape), last + 1) > len(flat):
            raise ValueError("a tensor is larger than what is stored of it")
        steps = [step * flat.itemsize for step in self.strides]
        values = np.lib.stride_tricks.as_strided(flat[self.offset :], self.shape, steps)
        if self.storage.kind == "BFloat16":  # the upper half of a float32
            values = (values.astype(np.uint32) << 16).view(np.float32)
        return values.astype(np.float32)


def read_pickled(path: Path) -> Tensors:
    """Every floating tensor of a file, in float32."""
    try:
        with open(path, "rb") as file:
            listed, content_of = _open_archive(file) if zipfile.is_zipfile(file) else _open_older(file)
            listed = listed.get("state_dict", listed)
            tensors = {name: each for name, each in listed.items() if isinstance(each, _Tensor)}
            floating = {name: each for name, each in tensors.items() if _KINDS[each.storage.kind][1] == "f"}
            floating |= {name: each for name, each in tensors.items() if each.storage.kind == "BFloat16"}
            return {str(name): each.array(content_of(each.storage)) for name, each in floating.items()}
    except _DAMAGED as error:
        reason = str(error)[:200] or type(error).__name__
        raise ModelError(f"{path} must be a pickle of weights alone: it was refused ({reason}); get another") from error


def _open_archive(file: IO[bytes]) -> tuple[dict[Any, Any], Callable[[_Storage], bytes]]:
    archive = zipfile.ZipFile(file)
    [program] = [name for name in archive.namelist() if name.endswith("/data.pkl")]
    top = program.removesuffix("data.pkl")

    def content_of(storage: _Storage) -> bytes:
        info = archive.getinfo(f"{top}data/{storage.key}")
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != storage.num_bytes:
            raise ValueError(f"{info.filename} has another size than the tensors in it")
        return archive.read(info)

    if f"{top}byteorder" in archive.namelist() and archive.read(f"{top}byteorder") != b"little":
        raise ValueError("its numbers are big-endian")
    with archive.open(program) as opened:
        return _values(opened)[0], content_of


def _open_older(file: IO[bytes]) -> tuple[dict[Any, Any], Callable[[_Storage], bytes]]:
    """Five pickles, of which the fourth lists the tensors and the last their storages, and then these."""
    file.seek(0)
    if _values(file)[0] != _MAGIC:
        raise ValueError("torch did not write it")
    _, _ = _values(file), _values(file)
    listed, storages = _values(file)
    contents = {}
    for key in _values(file)[0]:
        size, storage = int.from_bytes(file.read(8), "little"), storages[key]
        if size != storage.size:
            raise ValueError(f"storage {key} has another size than the tensors in it")
        contents[key] = file.read(storage.num_bytes)
    return listed, lambda storage: contents[storage.key]


def _values(file: IO[bytes]) -> tuple[Any, dict[str, _Storage]]:
    """What a pickle describes, and the storages that it names."""
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[Any, Any] = {}
    storages: dict[str, _Storage] = {}

    def after_mark() -> list[Any]:
        start = marks.pop()
        found = stack[start:]
        del stack[start:]
        return found

    for opcode, argument, _ in pickletools.genops(file):
        match opcode.name:
            case "STOP":
                return stack.pop(), storages
            case "MARK":
                marks.append(len(stack))
            case "GLOBAL":
                stack.append(_Name(argument))
            case "BINPUT" | "LONG_BINPUT":
                memo[argument] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(memo[argument])
            case "EMPTY_DICT" | "EMPTY_LIST":
                stack.append({} if opcode.name == "EMPTY_DICT" else [])
            case "TUPLE":
                stack.append(tuple(after_mark()))
            case "TUPLE1" | "TUPLE2" | "TUPLE3" as name:
                stack[-_NUM_WIDENED[name] :] = [tuple(stack[-_NUM_WIDENED[name] :])]
            case "SETITEM" | "SETITEMS" as name:
                items = after_mark() if name == "SETITEMS" else [stack.pop(-2), stack.pop()]
                stack[-1].update(zip(items[::2], items[1::2], strict=True))
            case "APPEND" | "APPENDS" as name:
                items = after_mark() if name == "APPENDS" else [stack.pop()]
                stack[-1].extend(items)
            case "BINPERSID":
                storage = _storage(*stack.pop())
                stack.append(storages.setdefault(storage.key, storage))
            case "REDUCE":
                arguments = stack.pop()
                stack.append(_rebuilt(stack.pop(), arguments))
            case "BUILD":
                stack.pop()  # attributes of the dictionary, such as the versions of its layers
            case name if name in _CONSTANTS:
                stack.append(_CONSTANTS[name])
            case name if name in _LITERALS:
                stack.append(argument)
            case "PROTO":
                pass
            case name:
                raise ValueError(f"it holds {name}")
    raise EOFError("it is cut short")


def _storage(what: Any, kind: Any, key: Any, place: Any, size: Any, *view: Any) -> _Storage:
    name = kind.removeprefix("torch ").removesuffix("Storage") if isinstance(kind, _Name) else ""
    if what != "storage" or name not in _KINDS or not isinstance(size, int) or any(view):
        raise ValueError(f"it names {what} of {kind}")
    return _Storage(name, str(key), size)


def _rebuilt(name: Any, arguments: tuple[Any, ...]) -> Any:
    """The value of a call; only calls that make tensors are allowed."""
    match str(name) if isinstance(name, _Name) else "":
        case "collections OrderedDict" if not arguments:
            return {}
        case "torch._utils _rebuild_tensor_v2" if isinstance(arguments[0], _Storage):
            return _Tensor(*arguments[:4])
        case "torch._utils _rebuild_parameter" if isinstance(arguments[0], _Tensor):
            return arguments[0]
    raise ValueError(f"it calls {name}")
