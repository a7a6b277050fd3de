"""Code that runs on the host: NumPy, Numba, callbacks into Python."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.source import text_of
from layerwright.checks.static import names
from layerwright.checks.static.code import Code
from layerwright.checks.static.detector import Fault, reads
from layerwright.checks.static.files import LOCAL
from layerwright.checks.static.guards import asks_types, by_type
from layerwright.checks.static.reach import calls, is_host_call
from layerwright.checks.static.tensors import Tensors, traced
from layerwright.checks.static.view import ClassView

# NumPy functions that ask for nothing but shape and type.
OF_SHAPES = frozenset(
    {"shape", "ndim", "size", "dtype", "issubdtype", "result_type", "isscalar", "iterable", "finfo", "iinfo"}
)
VALUES = frozenset({"numpy", "item", "tolist"})
CASTS = frozenset({"builtins.float", "builtins.int", "builtins.bool", "builtins.complex"})
HOSTS = frozenset({"scipy", "sklearn", "pandas", "cv2", "PIL", "skimage", "librosa", "numba", "statsmodels"})
COMPILED = frozenset({"numba.jit", "numba.njit", "numba.vectorize", "numba.guvectorize"})
GRADIENTS = frozenset({"tensorflow.custom_gradient", "keras.ops.custom_gradient", "jax.custom_vjp", "jax.custom_jvp"})


@reads("numpy-in-call")
def numpy_in_call(view: ClassView) -> Iterator[Fault]:
    """A NumPy function, `.numpy()`, `float()` or the like on a tensor."""
    for code, known in traced(view):
        for call in code.calls:
            what = _wants_values(known, call)
            if what is None or asks_types(code) or by_type(code, call) or _feeds_host(view, code, call):
                continue
            yield Fault(
                f"The source of `{code.said}` hands a tensor to `{what}`, which needs a value that it doesn't have "
                "while it is traced.",
                call,
                "a call that can be traced",
                text_of(call),
                "use the function of the same name in `keras.ops`, and keep NumPy for constants.",
            )


def _wants_values(known: Tensors, call: ast.Call) -> str | None:
    """What asks for a tensor's value."""
    dotted = known.code.dotted(call.func) or ""
    given = any(known.kind(value) == "values" for value in [*call.args, *(k.value for k in call.keywords)])
    if names.root(dotted) == "numpy" and given and names.last(dotted) not in OF_SHAPES and dotted.count(".") == 1:
        return text_of(call.func)
    if dotted in CASTS and len(call.args) == 1 and _computed(known, call.args[0]):
        return text_of(call.func)
    if dotted == "keras.ops.convert_to_numpy" and given:
        return text_of(call.func)
    if isinstance(call.func, ast.Attribute) and call.func.attr in VALUES and known.kind(call.func.value) == "values":
        return f".{call.func.attr}()"
    return None


def _computed(known: Tensors, node: ast.expr) -> bool:
    """Whether an expression is a tensor, and not just an argument that may be a list or a number."""
    return known.kind(node) == "values" and not isinstance(node, ast.Name | ast.Starred)


def _feeds_host(view: ClassView, code: Code, node: ast.AST) -> bool:
    """Whether what a node gives goes into host code, at once or by a name: then that is the fault."""
    name = None
    for outer, _ in code.around(node):
        if isinstance(outer, ast.Call) and _is_host(view, code, outer):
            return True
        if isinstance(outer, ast.Assign) and len(outer.targets) == 1 and isinstance(outer.targets[0], ast.Name):
            name = outer.targets[0].id
    hosts = [call for call in code.calls if name is not None and _is_host(view, code, call)]
    return any(
        isinstance(n, ast.Name) and n.id == name for call in hosts for value in call.args for n in ast.walk(value)
    )


@reads("host-code-in-call")
def host_code_in_call(view: ClassView) -> Iterator[Fault]:
    """A callback into Python, or compiled host code, on a tensor."""
    known = dict(traced(view))
    for code, call, dotted in calls(view, "call") if not view.is_host_side else ():
        given = [*call.args, *(k.value for k in call.keywords)]
        fed = code in known and any(_holds_tensor(known[code], value) for value in given)
        if not (is_host_call(dotted) or (fed and _is_host(view, code, call))) or by_type(code, call):
            continue
        own = _has_gradient(view, code)
        if own and code.parent is not None:
            continue  # the gradient itself, of a function that is reported
        yield Fault(
            f"The source of `{code.said}` runs host code, `{text_of(call.func)}`, on a tensor"
            + (", which holds Python's lock and isn't exported." if own else ", which can't be differentiated."),
            call,
            "a call that can be traced and differentiated",
            text_of(call),
            "write it in `keras.ops`; making such a loop a native operation (`lw.kernel`) is planned.",
            "note" if own else None,
        )


def _holds_tensor(known: Tensors, node: ast.AST, follow: bool = True) -> bool:
    """Whether a tensor, or its values, is in an expression, or in what a name in it was bound to once."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.expr) and known.kind(inner) == "values":
            return True
        bound = known.code.bound.get(inner.id, []) if isinstance(inner, ast.Name) and follow else []
        if len(bound) == 1 and isinstance(bound[0], ast.Call) and _wants_values(known, bound[0]):
            return True
    return False


def _is_host(view: ClassView, code: Code, call: ast.Call) -> bool:
    dotted = code.dotted(call.func) or ""
    if is_host_call(dotted) or (names.root(dotted) in HOSTS and dotted not in COMPILED):
        return True
    if dotted.startswith(LOCAL):
        helper = view.file.functions.get(dotted.removeprefix(LOCAL))
        return helper is not None and bool(COMPILED & set(helper.decorators))
    return dotted.startswith("self.") and bool(COMPILED & view.makers(dotted.removeprefix("self.")))


def _has_gradient(view: ClassView, code: Code) -> bool:
    """Whether a function, or one around it, brings its own gradient; or whether the file gives it one."""
    inside: Code | None = code
    while inside is not None:
        if GRADIENTS & set(inside.decorators):
            return True
        inside = inside.parent
    return any(code.dotted(c.func) in GRADIENTS for other in view.file.codes.values() for c in other.calls)
