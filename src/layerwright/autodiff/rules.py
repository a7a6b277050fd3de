"""The derivatives of functions: a table, keyed by the function object, and `rule`, which adds to it.

A rule says, for each argument, the partial derivative: an expression in the arguments (`x`, `y`) and the result (`r`).

Conventions where there is no derivative, all of them tested:

- `abs'(0) = 0`; `sign`, `floor`, `ceil`, `round`, `trunc` and comparisons have the derivative 0 everywhere.
- Where `max` or `min` has equal operands, the first gets everything.
- `sqrt'(0)`, `asin'(1)` and the like are infinite, but nothing comes of them where what they are multiplied with is 0.
- `pow(0, p)` has the derivative 0 for p > 1, 1 for p = 1, 0 for p = 0, and infinity between 0 and 1; the derivative for
  the exponent is 0 where the base isn't positive.
- `hypot` and `atan2` have the derivative 0 at (0, 0); `copysign` takes the sign of its second operand as constant.
- A branch that isn't taken has no part in anything: not even a NaN. `np.where` of numbers is such a branch.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from layerwright.autodiff import sources
from layerwright.autodiff.syntax import expression
from layerwright.errors import DifferentiationError

F = TypeVar("F", bound=Callable[..., Any])


@dataclasses.dataclass(frozen=True)
class Rule:
    """How a function is differentiated.

    Attributes:
        arguments: The names of its arguments in `partials`.
        result: The name of its result in `partials`.
        partials: One expression for each argument; a constant 0 where there is no derivative.
        namespace: What other names in them mean.
        singular: Whether a partial can be infinite where the function is finite.
    """

    arguments: tuple[str, ...]
    result: str
    partials: tuple[ast.expr, ...]
    namespace: dict[str, Any]
    singular: bool = False

    def partial(self, k: int, arguments: list[ast.expr], result: ast.expr) -> ast.expr:
        """The partial derivative for argument `k`, of these arguments and this result."""
        parts = dict(zip(self.arguments, arguments, strict=True))
        return expression(ast.unparse(self.partials[k]), **parts, **{self.result: result})


# One operand: the function's name in `math`, its name in NumPy, the partial.
_ONE = (
    ("exp", "exp", "r"),
    ("exp2", "exp2", "r * 0.6931471805599453"),
    ("expm1", "expm1", "r + 1.0"),
    ("log", "log", "1.0 / x"),
    ("log2", "log2", "1.4426950408889634 / x"),
    ("log10", "log10", "0.4342944819032518 / x"),
    ("log1p", "log1p", "1.0 / (1.0 + x)"),
    ("sqrt", "sqrt", "0.5 / r if r != 0.0 else math.inf"),
    ("cbrt", "cbrt", "0.3333333333333333 / (r * r) if r != 0.0 else math.inf"),
    ("sin", "sin", "math.cos(x)"),
    ("cos", "cos", "-math.sin(x)"),
    ("tan", "tan", "1.0 + r * r"),
    ("asin", "arcsin", "1.0 / math.sqrt(1.0 - x * x) if x * x != 1.0 else math.inf"),
    ("acos", "arccos", "-1.0 / math.sqrt(1.0 - x * x) if x * x != 1.0 else -math.inf"),
    ("atan", "arctan", "1.0 / (1.0 + x * x)"),
    ("sinh", "sinh", "math.cosh(x)"),
    ("cosh", "cosh", "math.sinh(x)"),
    ("tanh", "tanh", "1.0 - r * r"),
    ("asinh", "arcsinh", "1.0 / math.sqrt(x * x + 1.0)"),
    ("acosh", "arccosh", "1.0 / math.sqrt(x * x - 1.0) if x != 1.0 else math.inf"),
    ("atanh", "arctanh", "1.0 / (1.0 - x * x)"),
    ("erf", None, "1.1283791670955126 * math.exp(-x * x)"),
    ("erfc", None, "-1.1283791670955126 * math.exp(-x * x)"),
    ("fabs", "fabs", "1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0"),
    ("radians", "radians", "0.017453292519943295"),
    ("degrees", "degrees", "57.29577951308232"),
    (None, "deg2rad", "0.017453292519943295"),
    (None, "rad2deg", "57.29577951308232"),
    (None, "square", "2.0 * x"),
    (None, "negative", "-1.0"),
    (None, "positive", "1.0"),
    (None, "reciprocal", "-r * r"),
    (None, "absolute", "1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0"),
    (None, "float64", "1.0"),
    (None, "float32", "1.0"),
)
# Two operands: the partials for both.
POWER = (
    "y * x ** (y - 1.0) if x != 0.0 or y >= 1.0 else 0.0 if y == 0.0 else math.inf",
    "r * math.log(x) if x > 0.0 else 0.0",
)
_TWO = (
    ("pow", "power", *POWER),
    (None, "float_power", *POWER),
    ("atan2", "arctan2", "y / (x * x + y * y) if x != 0.0 or y != 0.0 else 0.0",
     "-x / (x * x + y * y) if x != 0.0 or y != 0.0 else 0.0"),
    ("hypot", "hypot", "x / r if r != 0.0 else 0.0", "y / r if r != 0.0 else 0.0"),
    ("fmod", "fmod", "1.0", "-math.trunc(x / y)"),
    ("copysign", "copysign", "1.0 if (x >= 0.0) == (r >= 0.0) else -1.0", "0.0"),
    (None, "add", "1.0", "1.0"),
    (None, "subtract", "1.0", "-1.0"),
    (None, "multiply", "y", "x"),
    (None, "divide", "1.0 / y", "-r / y"),
    (None, "logaddexp", "math.exp(x - r)", "math.exp(y - r)"),
)  # fmt: skip
_SINGULAR = {"sqrt", "cbrt", "asin", "acos", "acosh", "log", "log2", "log10", "log1p", "atanh", "pow", "float_power"}
# Without a derivative: what they give is piecewise constant, or no number.
PASSIVE: set[Any] = {
    *(getattr(math, n) for n in ("floor", "ceil", "trunc", "isnan", "isinf", "isfinite", "gcd", "isqrt")),
    *(getattr(np, n) for n in ("floor", "ceil", "trunc", "rint", "sign", "isnan", "isinf", "isfinite", "round")),
    *(getattr(np, n) for n in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool_")),
    *(np.intp, int, round, bool, len, range, np.floor_divide, np.signbit, np.argmax, np.argmin),
}
# What they choose, and how the first operand is chosen.
SELECTING: dict[Any, str] = {max: ">=", np.maximum: ">=", np.fmax: ">=", min: "<=", np.minimum: "<=", np.fmin: "<="}
_TABLE: dict[Any, Rule] = {}


def _enter(function: Any, partials: tuple[str, ...], singular: bool) -> None:
    trees = tuple(ast.parse(p, mode="eval").body for p in partials)
    _TABLE[function] = Rule(("x", "y")[: len(partials)], "r", trees, {"math": math}, singular)


for _math, _numpy, *_partials in (*_ONE, *_TWO):
    for _owner, _name in ((math, _math), (np, _numpy)):
        if _name is not None and hasattr(_owner, _name):
            _enter(getattr(_owner, _name), tuple(map(str, _partials)), (_math or _numpy) in _SINGULAR)
_enter(abs, ("1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0",), False)
_enter(float, ("1.0",), False)
# A power written with `**`, or `pow`.
POWERS = Rule(("x", "y"), "r", tuple(ast.parse(p, mode="eval").body for p in POWER), {"math": math}, True)
# The functions that cost much more than arithmetic: their results are kept, not computed again.
CHEAP: set[Any] = {abs, float, math.fabs, np.fabs, np.absolute, np.float64, np.float32, np.square, np.negative}


def rule(function: Any) -> Callable[[F], F]:
    """Say how a function is differentiated; what is decorated gives its partial derivatives.

    Args:
        function: A function of numbers that kernels call. Its own source is then never looked at.

    Returns:
        A decorator, for a function of the arguments and the result that returns one partial derivative for each
        argument in one expression.

    Raises:
        DifferentiationError: Where the partials aren't one returned expression for each argument.

    Example:
        >>> import math
        >>> def softplus(x):
        ...     return math.log1p(math.exp(x))
        >>> @rule(softplus)
        ... def _(x, result):
        ...     return 1.0 - math.exp(-result)
    """

    def enter(given: F) -> F:
        source = sources.read(given)
        names = source.arguments
        statements = [s for s in source.tree.body if not isinstance(s, ast.Expr)]
        if len(statements) != 1 or not isinstance(statements[0], ast.Return) or statements[0].value is None:
            raise _wrong(
                source, "is more than one returned expression", "write the partial derivatives after `return`."
            )
        value = statements[0].value
        partials = tuple(value.elts) if isinstance(value, ast.Tuple) else (value,)
        if len(partials) != len(names) - 1:
            got = f"{len(partials)} partials, {len(names)} arguments"
            raise _wrong(source, f"has {got}", "take the arguments and the result, return a partial for each argument.")
        namespace = {n: sources.meaning(ast.Name(n), source.namespace, set(names)) for n in _free(value, names)}
        _TABLE[sources.plain(function)] = Rule(tuple(names[:-1]), names[-1], partials, namespace, True)
        return given

    return enter


def _free(value: ast.expr, names: list[str]) -> set[str]:
    found = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)} - set(names)
    return {n for n in found if not hasattr(builtins, n)}


def _wrong(source: sources.Source, what: str, fix: str) -> DifferentiationError:
    return DifferentiationError(
        f"The rule `{source.name}` {what}.", fix=fix, where=f"{source.file}:{source.tree.lineno}"
    )


def rule_of(function: Any) -> Rule | None:
    """The rule of a function, or None."""
    try:
        return _TABLE.get(sources.plain(function))
    except TypeError:
        return None


def stop_gradient(x: Any) -> Any:
    """The number itself, as a constant: nothing is differentiated through it."""
    return x


def straight_through(value: Any, like: Any) -> Any:  # noqa: ARG001
    """The first number, with the derivative of the second: `straight_through(round(x), x)`."""
    return value


_enter(stop_gradient, ("0.0",), False)
_enter(straight_through, ("0.0", "1.0"), False)
CHEAP |= {stop_gradient, straight_through}
