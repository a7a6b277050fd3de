"""Random numbers that `call` draws: with a fixed seed, without one, on the host, or inside a branch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.source import UNKNOWN, constant, keyword, text_of
from layerwright.checks.static import names
from layerwright.checks.static.code import Code
from layerwright.checks.static.detector import Fault, reads
from layerwright.checks.static.guards import by_type
from layerwright.checks.static.reach import calls
from layerwright.checks.static.view import ClassView

DRAWS = frozenset({
    "normal", "uniform", "truncated_normal", "randint", "categorical", "dropout", "shuffle",
    "gamma", "beta", "binomial",
})  # fmt: skip
RESEEDING = frozenset({
    "keras.utils.set_random_seed", "tensorflow.random.set_seed", "torch.manual_seed", "numpy.random.seed",
    "random.seed",
})  # fmt: skip
KEYS = frozenset({"jax.random.key", "jax.random.PRNGKey"})
GENERATORS = frozenset({
    "numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator", "random.Random",
})  # fmt: skip
CONTROL = frozenset({"cond", "while_loop", "scan", "fori_loop", "switch", "map", "vectorized_map", "associative_scan"})
FIX = "make `self.seed_generator = keras.random.SeedGenerator(seed)` in `__init__` and pass it as `seed`."


def is_draw(dotted: str | None) -> bool:
    """Whether it is a function of `keras.random` that draws."""
    return dotted is not None and dotted.startswith("keras.random.") and names.last(dotted) in DRAWS


def seed_of(call: ast.Call) -> ast.expr | None:
    """The seed that a draw is given by keyword, the only usual way."""
    return keyword(call, "seed")


def number(code: Code, node: ast.AST | None) -> object:
    """The literal that an expression is, also by the name of a constant of the file; else `UNKNOWN`."""
    value = constant(node)
    if value is UNKNOWN and isinstance(node, ast.Name) and node.id not in code.bound:
        values = code.file.bound.get(node.id, [])
        value = constant(values[0]) if len(values) == 1 else UNKNOWN
    return value


@reads("constant-seed")
def constant_seed(view: ClassView) -> Iterator[Fault]:
    """A seed that is the same in every call."""
    for code, call, dotted in calls(view, "call"):
        if is_draw(dotted):
            seed = number(code, seed_of(call))
            fixed = isinstance(seed, int) and not isinstance(seed, bool)
        elif dotted in RESEEDING or dotted in KEYS:
            fixed = bool(call.args) and isinstance(number(code, call.args[0]), int)
        elif dotted is not None and dotted.startswith("tensorflow.random.stateless_"):
            fixed = isinstance(number(code, seed_of(call)), int | tuple | list)
        else:
            continue
        if fixed:
            yield Fault(
                f"The source of `{code.said}` draws random numbers with a fixed seed, the same ones in every call.",
                call,
                "a SeedGenerator",
                text_of(call),
                FIX
                if is_draw(dotted)
                else "draw with `keras.random` and a `keras.random.SeedGenerator` made in `__init__`.",
            )


@reads("unseeded-random")
def unseeded_random(view: ClassView) -> Iterator[Fault]:
    """A draw without a seed, which JAX refuses to trace."""
    for code, call, dotted in calls(view, "call"):
        said = keyword(call, "seed")
        none = isinstance(said, ast.Constant) and said.value is None
        if is_draw(dotted) and (said is None or none) and all(k.arg for k in call.keywords) and len(call.args) < 3:
            yield Fault(
                f"The source of `{code.said}` draws random numbers without a seed generator, which can't be compiled "
                "on JAX.",
                call,
                "seed=self.seed_generator",
                "no `seed`",
                FIX,
            )


@reads("host-random-in-call")
def host_random_in_call(view: ClassView) -> Iterator[Fault]:
    """Random numbers of NumPy or of Python."""
    for code, call, dotted in calls(view, "call"):
        if _is_host_random(view, dotted) and not by_type(code, call) and not view.is_host_side:
            yield Fault(
                f"The source of `{code.said}` draws from `{text_of(call.func)}`, once while the step is traced and "
                "never again.",
                call,
                "keras.random with a SeedGenerator",
                text_of(call),
                "draw with `keras.random` and a `keras.random.SeedGenerator` made in `__init__`.",
            )


def _is_host_random(view: ClassView, dotted: str | None) -> bool:
    if dotted is None or dotted in RESEEDING:
        return False
    if dotted.startswith(("numpy.random.", "random.")):
        return True
    parts = dotted.split(".")
    return (
        len(parts) == 3 and parts[0] == "self" and bool(view.makers(parts[1])) and view.makers(parts[1]) <= GENERATORS
    )


@reads("state-in-branch")
def state_in_branch(view: ClassView) -> Iterator[Fault]:
    """A draw from a seed generator inside a function that is traced on its own, which JAX doesn't allow."""
    for code, call, dotted in calls(view, "call"):
        if names.last(dotted) not in CONTROL or names.root(dotted) not in ("keras", "jax"):
            continue
        for inner in _bodies(code, call):
            for draw in inner.calls:
                seed = seed_of(draw)
                if is_draw(inner.dotted(draw.func)) and (inner.dotted(seed) or "" if seed else "").startswith("self."):
                    yield Fault(
                        f"The source of `{code.said}` draws from a seed generator inside a function that "
                        f"`{text_of(call.func)}` runs, "
                        "which leaves a tracer behind on JAX.",
                        draw,
                        "state changes outside of branches and loop bodies",
                        text_of(draw),
                        f"do it before `{text_of(call.func)}` and use the result inside.",
                    )


def _bodies(code: Code, call: ast.Call) -> Iterator[Code]:
    """The functions written in place, or nested in the same function, that a call is given."""
    for given in [*call.args, *(k.value for k in call.keywords)]:
        for inner in code.nested:
            if inner.node is given or (isinstance(given, ast.Name) and given.id == inner.name):
                yield from inner.everything()
