"""Which dtypes a kernel computes in; the same rules on every backend.

1. All floating arguments are brought to one dtype, the widest of them, float16 and bfloat16 together being float32.
2. Python numbers take the dtype of the others: the floating one where there is one, else the integer one; alone they
   are `keras.config.floatx()`, int32 or bool.
3. Integers and booleans stay what they are.
4. float16 and bfloat16 are computed in float32 and cast back, because Numba has neither.
5. Outputs that are floating have the dtype of rule 1, or `floatx` where no argument is floating; integer ones that of
   the integer arguments, or int32 where there are none; booleans are bool. What an elementwise kernel returns decides
   which of these holds; outputs of others are floating where an argument is, else integer, unless `outputs` says so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import keras
import numpy as np

from layerwright.errors import DtypeError

FLOATS = ("bfloat16", "float16", "float32", "float64")
HALVES = ("bfloat16", "float16")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
WEAK = {float: "a Python float", int: "a Python int", bool: "a Python bool"}

Given = str | type  # a dtype's name, or the class of a Python number


@dataclasses.dataclass(frozen=True)
class Plan:
    """The dtypes of one call.

    Attributes:
        inputs: What each argument is cast to.
        loop: What the machine code works on, inputs first: as `inputs` and `outputs`, halves as float32.
        outputs: What the call returns.
    """

    inputs: tuple[str, ...]
    loop: tuple[str, ...]
    outputs: tuple[str, ...]


def plan(
    given: Sequence[Given],
    name: str,
    arguments: Sequence[str],
    results: Callable[[Sequence[str]], Sequence[str | None]],
    said: Sequence[str] | None = None,
) -> Plan:
    """Apply the rules above.

    Args:
        given: A dtype for each argument, or the class of a Python number.
        name, arguments: What errors call the kernel and its inputs.
        results: The kinds of the outputs for loop dtypes of the inputs: names of dtypes, or None for "as the inputs".
        said: The outputs' dtypes, where the option `outputs` says them.

    Raises:
        DtypeError: Where an argument has a dtype that kernels don't take.
    """
    for argument, dtype in zip(arguments, given, strict=True):
        if isinstance(dtype, str) and dtype not in (*FLOATS, *INTEGERS, "bool"):
            raise DtypeError(
                f"`{name}` can't compute in the dtype of `{argument}`.",
                expected=", ".join((*FLOATS, *INTEGERS, "bool")),
                got=dtype,
                fix="cast it with `keras.ops.cast`.",
            )
    floating = _widest([d for d in given if d in FLOATS]) or (keras.config.floatx() if float in given else None)
    whole = _widest([d for d in given if d in INTEGERS]) or ("int32" if int in given and not floating else None)
    inputs = tuple(_cast(dtype, floating, whole) for dtype in given)
    loop = tuple(map(computed, inputs))
    outputs = tuple(said) if said else tuple(_output(kind, floating, whole) for kind in results(loop))
    return Plan(inputs, (*loop, *map(computed, outputs)), outputs)


def computed(dtype: str) -> str:
    """The dtype in which values of a dtype are computed."""
    return "float32" if dtype in HALVES else dtype


def is_floating(dtype: str) -> bool:
    """Whether a dtype is one of the floating ones, which have gradients."""
    return dtype in FLOATS


def _widest(dtypes: Sequence[Given]) -> str | None:
    """The dtype that holds the values of all floating ones, or of all integers; the same on every backend."""
    names = [str(dtype) for dtype in dtypes]
    if not names:
        return None
    if len(set(names)) == 1:
        return names[0]
    common = np.result_type(*map(computed, names)).name
    # int64 and uint64 have no common integer.
    return common if (common in FLOATS) == (names[0] in FLOATS) else "int64"


def _cast(dtype: Given, floating: str | None, whole: str | None) -> str:
    if isinstance(dtype, str):
        return floating if floating is not None and dtype in FLOATS else dtype
    if dtype is bool:
        return "bool"
    return floating or whole or "int32"


def _output(kind: str | None, floating: str | None, whole: str | None) -> str:
    if kind is None:
        return floating or whole or keras.config.floatx()
    if kind in FLOATS:
        return floating or keras.config.floatx()
    if kind in INTEGERS:
        return whole or "int32"
    return kind
