"""Why a call that works eagerly can't be traced: one verdict, which the rules of this family share."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from types import ModuleType

from layerwright.checks.attempt import Failure
from layerwright.checks.lab import Component, Lab
from layerwright.checks.rules._once import once
from layerwright.checks.source import UNKNOWN, Function

BOOLEAN = ("TracerBoolConversionError", "OperatorNotAllowedInGraphError")
CONCRETE = ("TracerArrayConversionError", "ConcretizationTypeError", "TracerIntegerConversionError")
VALUES = (
    "has no attribute 'numpy'",
    "has no attribute 'item'",
    "has no attribute 'tolist'",
    "Cannot convert a symbolic",
    "Can't call numpy() on Tensor",
    "A KerasTensor is symbolic",
    "A KerasTensor cannot be used as input to",
    "called on traced array",
)
HOST_PACKAGES = ("scipy", "sklearn", "pandas", "cv2", "PIL", "skimage", "librosa", "numba", "cupy", "statsmodels")
DECLARATIONS = ("compute_output_shape", "compute_output_spec")
JOINS = ("concat", "concatenate", "concat_v2", "stack", "cat", "hstack", "vstack", "dstack")


@dataclasses.dataclass(frozen=True)
class Cause:
    """The verdict: the rule that it is, and the place.

    Attributes:
        rule: The name of one of the rules of this family.
        at: The function and the node that is to blame, where the source shows it.
        failure: The failure that was seen; None where only the source speaks.
    """

    rule: str
    failure: Failure
    component: Component
    at: tuple[Function, ast.AST] | Failure


@once
def cause(lab: Lab) -> Cause | None:
    """Why tracing fails, or None where it doesn't; worked out once for a laboratory."""
    failure = lab.trace_failure or _step_failure(lab) or _eager_failure(lab)
    if failure is None:
        return None
    component, function, statement = _blamed(lab, failure)
    if function is None or statement is None:
        # A callback's output has no rank, and what fails of that is outside the user's code.
        host = next(_host_anywhere(lab, component), None) if _unknown_rank(failure) else None
        rule = "host-code-in-call" if host is not None else _by_message(lab, failure)
        return Cause(rule, failure, component, host or failure)
    where = (function, statement)
    if failure.mentions("has no attribute 'numpy'") and any(getattr(n, "attr", "") == "numpy" for n in head(statement)):
        return Cause("numpy-in-call", failure, component, where)
    host = next(_host_calls(lab, component, function, statement), None) or next(_host_anywhere(lab, component), None)
    if host is not None and (_wants_values(failure) or host[1] in set(ast.walk(statement)) or _unknown_rank(failure)):
        return Cause("host-code-in-call", failure, component, host)
    return Cause(_by_statement(lab, failure, function, statement), failure, component, where)


def _step_failure(lab: Lab) -> Failure | None:
    # PyTorch traces nothing in its symbolic calls; NumPy on its tensors shows in the first training step.
    failure = lab.training_step.failure if lab.called.ok and lab.called.get().raw is not None else None
    return failure if failure is not None and _wants_values(failure) else None


def _eager_failure(lab: Lab) -> Failure | None:
    # A call that fails eagerly may ask for values as well: in a part that is traced even then (a scan, a gradient by
    # hand), or once the call itself is traced.
    found = [p.failure for p in (lab.called, lab.symbolic) if lab.made.ok and not lab.called.ok]
    return next((f for f in found if f is not None and _wants_values(f)), None)


def _blamed(lab: Lab, failure: Failure) -> tuple[Component, Function | None, ast.stmt | None]:
    """The component, function and statement in which the user's innermost line stands."""
    for frame in reversed(failure.frames):
        for component in lab.components:
            for function in component.source.reachable("call", "build", *DECLARATIONS, "compute_mask"):
                if function.path != frame.path:
                    continue
                statement = statement_at(function, frame.line)
                if statement is not None:
                    return component, function, statement
    return lab.components[0], None, None


def statement_at(function: Function, line: int) -> ast.stmt | None:
    """The innermost statement of a function that covers a line; a lambda's body counts as one."""
    best: ast.stmt | None = None
    for node in function.walk():
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            best = node
    if (
        best is None
        and isinstance(function.node, ast.Lambda)
        and function.line <= line <= (function.node.end_lineno or line)
    ):
        return ast.copy_location(ast.Expr(function.node.body), function.node.body)
    return best


def head(statement: ast.stmt) -> list[ast.AST]:
    """The nodes of a statement without those of the statements inside it: an `if` means its test."""
    inner = {id(n) for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt) for n in ast.walk(child)}
    return [n for n in ast.walk(statement) if id(n) not in inner]


def _by_statement(lab: Lab, failure: Failure, function: Function, statement: ast.stmt) -> str:
    if any(joins_lists(function, node) for node in head(statement)):
        return "list-in-concat"
    if function.name in DECLARATIONS:
        return "output-shape-mismatch"
    if function.name == "build":
        return (
            "batch-size-baked" if lab.symbolic.failure is not None and lab.symbolic_fixed.ok else "call-not-traceable"
        )
    if lab.symbolic.failure is not None and lab.symbolic_fixed.ok:
        loop = isinstance(statement, ast.For) or any(isinstance(n, ast.comprehension) for n in head(statement))
        return "loop-over-batch" if loop else "static-batch"
    return _by_message(lab, failure)


def _by_message(lab: Lab, failure: Failure) -> str:
    if failure.kind in BOOLEAN and not failure.mentions("Iterating"):
        return "python-branch-on-tensor"
    if failure.mentions(
        "Using a symbolic `tf.Tensor` as a Python `bool`", "boolean conversion", "cannot be used as a boolean"
    ):
        return "python-branch-on-tensor"
    if _wants_values(failure):
        return "numpy-in-call"
    if lab.symbolic.failure is not None and lab.symbolic_fixed.ok:
        return "static-batch"
    return "call-not-traceable"


def _wants_values(failure: Failure) -> bool:
    return failure.kind in CONCRETE or failure.mentions(*VALUES)


def _unknown_rank(failure: Failure) -> bool:
    return failure.mentions("unknown TensorShape", "unknown rank", "returned a non-tensor", "as_list() is not defined")


def _host_calls(
    lab: Lab, component: Component, function: Function, statement: ast.stmt
) -> Iterator[tuple[Function, ast.AST]]:
    for node in head(statement):
        if isinstance(node, ast.Call) and is_host(lab, function, node, component):
            yield function, node


def _host_anywhere(lab: Lab, component: Component) -> Iterator[tuple[Function, ast.AST]]:
    for function, call, _ in component.source.calls("call"):
        if is_host(lab, function, call, component):
            yield function, call


def is_host(lab: Lab, function: Function, call: ast.Call, component: Component) -> bool:
    """Whether a call runs on the host, outside the framework: callbacks, Numba, SciPy and their like."""
    target = function.resolve(call.func, component.layer)
    if target is UNKNOWN:
        return False
    if any(target is known for known in lab.engine.host_functions()):
        return True
    module = root_module(function, call) or getattr(target, "__module__", None) or ""
    return bool({module.split(".")[0], type(target).__module__.split(".")[0]} & set(HOST_PACKAGES))


def root_module(function: Function, call: ast.Call) -> str | None:
    """The module through which a function is called (`np` in `np.linalg.norm(x)`), None for a bare name."""
    base: ast.expr = call.func
    while isinstance(base, ast.Attribute):
        base = base.value
    module = function.resolve(base)
    return module.__name__ if isinstance(module, ModuleType) else None


def joins_lists(function: Function, node: ast.AST) -> bool:
    """Whether a node joins tensors with a literal list of numbers, as `concat([x, [1.0, 2.0]])` does."""
    if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.List | ast.Tuple):
        return False
    target = function.resolve(node.func)
    name = getattr(target, "__name__", node.func.attr if isinstance(node.func, ast.Attribute) else "")
    lists = [e for e in node.args[0].elts if isinstance(e, ast.List | ast.Tuple)]
    return name in JOINS and 0 < len(lists) < len(node.args[0].elts)
