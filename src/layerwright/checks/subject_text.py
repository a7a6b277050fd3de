"""Inputs written as text on the command line: `(None, 32):float32`, `(None, 5):int32<100`."""

from __future__ import annotations

import ast
import math
import re

from layerwright.checks.subject import Spec
from layerwright.errors import InputsError, nearest

DTYPES = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int32",
    "int64",
    "int16",
    "int8",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
)
MOST_ELEMENTS = 1 << 28
_FORM = re.compile(r"\s*(?P<shape>\(.*\))\s*(?::\s*(?P<dtype>\w+)\s*(?:<\s*(?P<below>\d+)\s*)?)?", re.DOTALL)
_EXPECTED = "a shape with the batch axis first, and a dtype: (None, 32):float32"


def parse_spec(text: str) -> Spec:
    """Read a shape, and a dtype where one is said; whole numbers may say below which number they lie.

    Raises:
        InputsError: Where the text is anything else.

    Example:
        >>> parse_spec("(None, 5):int32<100")
        Spec(shape=(None, 5), dtype='int32', below=100)
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise _unread(text, f'write it in parentheses, for example "({_bare(text)}):float32".')
    shape = _shape(text, found["shape"])
    elements = math.prod(5 if size is None else size for size in shape)
    if elements > MOST_ELEMENTS:
        raise InputsError(
            f"The inputs `{text}` are too large to be made.",
            expected=f"{MOST_ELEMENTS:,} elements at most",
            got=f"{elements:,}",
            fix="write a smaller shape: what is wrong with a layer shows on small inputs.",
        )
    dtype = found["dtype"] or "float32"
    if dtype not in DTYPES:
        close = nearest(dtype, DTYPES)
        raise InputsError(
            f"The dtype `{dtype}` of the inputs `{text}` isn't one that layerwright can feed.",
            expected=", ".join(DTYPES),
            got=dtype,
            fix=f"write {' or '.join(f'`{c}`' for c in close)}." if close else "write one of these.",
        )
    if found["below"] is None:
        return Spec(shape, dtype)
    below = int(found["below"])
    if "int" not in dtype or below < 1:
        raise _unread(text, "write `<` only after a dtype of whole numbers, and a number from 1 after it.")
    return Spec(shape, dtype, below)


def _shape(text: str, written: str) -> tuple[int | None, ...]:
    try:
        shape = ast.literal_eval(written)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise _unread(text, "write only whole numbers and None in the shape.") from None
    if shape is None or (isinstance(shape, int) and not isinstance(shape, bool)):
        raise _unread(text, f'a shape of one axis has a comma: "({shape},)".')
    if not isinstance(shape, tuple) or not all(d is None or (type(d) is int and d >= 0) for d in shape):
        raise _unread(text, "write only whole numbers from 0 and None in the shape.")
    return shape


def _bare(text: str) -> str:
    words = re.findall(r"\bNone\b|\b\d+\b", text.split(":")[0])
    return ", ".join(words) + ("," if len(words) == 1 else "") if words else "None, 32"


def _unread(text: str, fix: str) -> InputsError:
    return InputsError(f"The inputs `{text}` can't be read.", expected=_EXPECTED, got=text, fix=fix)
