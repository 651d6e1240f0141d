"""Reader of NumPy files that hold pickled objects, without running any code."""

import enum
import math
import pickletools
import re
from pathlib import Path

import numpy as np

_HEADER = re.compile(
    rb"\{'descr': '\|O', 'fortran_order': (False|True), 'shape': \(\), \} *\n"
)
_DTYPE = re.compile(r"[<>|=]?(O8?|b1|[fiu][1248])")
_MAX_RANK = 32


def read_object_array(path: str | Path):
    """Object in a ``.npy`` file without dimensions: containers and plain arrays.

    A pickle is a program: it may name any function, call it, and set the state of
    what it made, also a state that no array can have. This reader therefore runs
    the few instructions that containers, texts, numbers and arrays are written with,
    and makes the arrays itself, from checked bytes; it refuses any other. An object
    array of one dimension is read as a list.
    """
    content = Path(path).read_bytes()
    try:
        return _Machine(_pickle_within(content)).run()
    except Exception as error:  # whatever a damaged file brings about
        got = str(error) if type(error) is ValueError else f"damage, {error!r}"
        raise ValueError(
            f"{path}: expected one pickled object of arrays, texts and containers; "
            f"got {got[:200]}"
        ) from None


def _pickle_within(content):
    """What follows the header, which is compared rather than evaluated."""
    if content[:8] != b"\x93NUMPY\x01\x00":
        raise ValueError(f"a file that begins with {content[:8]!r}")
    end = 10 + int.from_bytes(content[8:10], "little")
    if not _HEADER.fullmatch(content[10:end]):
        raise ValueError(f"the header {content[10:end].decode('latin1').strip()!r}")
    return content[end:]


class _Known(enum.Enum):
    """The names that a pickle of arrays holds; here they are names and no more."""

    RECONSTRUCT = "numpy.core.multiarray _reconstruct"
    NDARRAY = "numpy ndarray"
    DTYPE = "numpy dtype"
    ENCODE = "_codecs encode"


class _Unbuilt:
    """Array or dtype whose state follows later; ``text`` is the dtype's."""

    def __init__(self, text=None):
        self.text = text
        self.is_built = False
        self.value: np.ndarray | np.dtype | list | None = None


_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_LITERALS = {"BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"} | {
    f"{short}BIN{kind}" for short in ("", "SHORT_") for kind in ("UNICODE", "BYTES")
}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class _Machine:
    """Stack and memory of one pickle of protocol 2 to 4."""

    def __init__(self, code: bytes):
        self.code = code
        self.stack = []
        self.below = []  # the stacks beneath the open marks
        self.memory = {}
        self.bytes_left = len(code)  # to make of the texts in the code

    def run(self):
        for instruction, argument, _ in pickletools.genops(self.code):
            name = instruction.name
            if name == "STOP":
                return self.stack.pop()
            if name in _CONSTANTS:
                self.stack.append(_CONSTANTS[name])
            elif name in _LITERALS:
                self.stack.append(argument)
            elif name in _TUPLES:
                items = [self.stack.pop() for _ in range(_TUPLES[name])]
                self.stack.append(tuple(items[::-1]))
            elif name in ("BINPUT", "LONG_BINPUT"):
                self.memory[argument] = self.stack[-1]
            elif name in ("BINGET", "LONG_BINGET"):
                self.stack.append(_latest(self.memory[argument]))
            elif name not in ("PROTO", "FRAME"):
                step = getattr(self, f"_{name.lower()}", None)
                if step is None:
                    raise ValueError(f"a pickle with the instruction {name}")
                step(argument)

    def _memoize(self, _):
        self.memory[len(self.memory)] = self.stack[-1]

    def _mark(self, _):
        self.below.append(self.stack)
        self.stack = []

    def _since_mark(self):
        items, self.stack = self.stack, self.below.pop()
        return items

    def _tuple(self, _):
        items = self._since_mark()
        self.stack.append(tuple(items))

    def _empty_list(self, _):
        self.stack.append([])

    def _append(self, _):
        self._extend([self.stack.pop()])

    def _appends(self, _):
        self._extend(self._since_mark())

    def _extend(self, items):
        _checked(self.stack[-1], list).extend(items)

    def _empty_dict(self, _):
        self.stack.append({})

    def _setitem(self, _):
        value, key = self.stack.pop(), self.stack.pop()
        self._update([key, value])

    def _setitems(self, _):
        self._update(self._since_mark())

    def _update(self, items):
        keys = [_checked(key, str) for key in items[::2]]
        _checked(self.stack[-1], dict).update(zip(keys, items[1::2], strict=True))

    def _global(self, name):
        name = name.replace("numpy._core", "numpy.core")
        if name not in {known.value for known in _Known}:
            raise ValueError(f"a pickle that asks for {name.replace(' ', '.')}")
        self.stack.append(_Known(name))

    def _stack_global(self, _):
        name, module = (_checked(self.stack.pop(), str) for _ in range(2))
        self._global(f"{module} {name}")

    def _reduce(self, _):
        arguments, function = self.stack.pop(), self.stack.pop()
        arguments = _checked(arguments, tuple)
        if function is _Known.ENCODE:
            made = self._encode(*arguments)
        elif function is _Known.DTYPE:
            made = _Unbuilt(_checked(arguments[0], str))
        elif function is _Known.RECONSTRUCT and arguments[0] is _Known.NDARRAY:
            made = _Unbuilt()
        else:
            raise ValueError("a pickle that calls what is no function of arrays")
        self.stack.append(made)

    def _encode(self, text, encoding):
        if encoding != "latin1":
            raise ValueError(f"bytes in the encoding {encoding}")
        self.bytes_left -= len(_checked(text, str))
        if self.bytes_left < 0:
            raise ValueError("a pickle that makes more bytes than it has")
        return text.encode("latin1")

    def _build(self, _):
        state = _checked(self.stack.pop(), tuple)
        made = _checked(self.stack.pop(), _Unbuilt)
        make = _array if made.text is None else _dtype
        made.value = make(made.text, *state)
        made.is_built = True
        self.stack.append(made.value)


def _latest(value):
    return value.value if isinstance(value, _Unbuilt) and value.is_built else value


def _checked(value, kind):
    if type(value) is not kind:
        raise ValueError(
            f"a pickle with {type(value).__name__} in place of {kind.__name__}"
        )
    return value


def _dtype(text, version, order, *rest):
    if not _DTYPE.fullmatch(text) or order not in ("<", ">", "|", "="):
        raise ValueError(f"the dtype {text!r} with byte order {order!r}")
    if version != 3 or rest[:-1] != (None, None, None, -1, -1):
        raise ValueError(f"a dtype {text!r} with a state of its own")
    return np.dtype(text).newbyteorder(order)


def _array(_, version, shape, dtype, is_fortran, content):
    """The array; the list of the entries or the only one, if these are objects."""
    shape = tuple(_checked(size, int) for size in _checked(shape, tuple))
    if version != 1 or not isinstance(dtype, np.dtype) or type(is_fortran) is not bool:
        raise ValueError("an array whose state is not one of an array")
    if len(shape) > _MAX_RANK or any(size < 0 for size in shape):
        raise ValueError(f"an array of shape {shape}")
    if dtype.hasobject:
        n_items = len(_checked(content, list))
    else:
        n_items = len(_checked(content, bytes)) / dtype.itemsize
    if n_items != math.prod(shape):
        raise ValueError(f"{n_items} items for an array of shape {shape}")
    if not dtype.hasobject:
        order = "F" if is_fortran else "C"
        return np.frombuffer(content, dtype).reshape(shape, order=order)
    if len(shape) > 1:
        raise ValueError(f"an array of objects of shape {shape}")
    return list(content) if shape else content[0]
