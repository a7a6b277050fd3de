from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.lab import BASE_ARGUMENTS, Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._arguments import Sample, constructors, sample, takes
from layerwright.checks.rules.config._saved_parts import parts
from layerwright.checks.source import Function

PROBE: dict[str, Any] = {"name": "layerwright_probe", "trainable": False, "dtype": "mixed_float16"}


@rule("LW114", "warning", hides=("reload-differs", "config-not-idempotent", "policy-ignored"))
def base_arg_not_forwarded(lab: Lab) -> Iterator[Finding]:
    """`__init__` takes `name`, `dtype` or `trainable` and doesn't pass it on.

    ## What it does
    Constructs the layer with another name, dtype policy and `trainable=False`, and looks whether it has them.

    ## Why is this bad
    A caller asks for a frozen layer in float16 and gets a trainable one in float32. A loaded layer loses all
    three.

    ## Example
    ```python
    class Affine(keras.layers.Layer):
        def __init__(self, gain=1.0, **kwargs):
            super().__init__()
            self.gain = gain

        def call(self, x):
            return self.gain * x
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_base_arg_not_forwarded")
    class Affine(keras.layers.Layer):
        def __init__(self, gain=1.0, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.gain = gain

        def call(self, x):
            return self.gain * ops.cast(x, self.compute_dtype)

        def compute_output_shape(self, input_shape):
            return input_shape

        def get_config(self):
            return {**super().get_config(), "gain": self.gain}
    ```

    ## Source
    Keras issue 19745.
    """
    for component in parts(lab):
        init = next(constructors(component.source), None)
        made = lab.attempt(partial(sample, lab, component)).value
        if init is None or made is None:
            continue
        lost = [
            name for name in BASE_ARGUMENTS if _is_lost(lab, component, made, name) and not _is_set(component, name)
        ]
        if lost:
            names = ", ".join(f"`{name}`" for name in lost)
            yield lab.finding(
                f"`{component.name}.__init__` takes {names} and ignores {'it' if len(lost) == 1 else 'them'}.",
                expected=", ".join(f"{name}={PROBE[name]!r} as asked for" for name in lost),
                got=", ".join(f"{name}={_value(_made(lab, made, name), name)!r}" for name in lost),
                fix=_fix(init, lost),
                at=_base_call(init) or init,
            )


def _made(lab: Lab, made: Sample, name: str) -> Any:
    return lab.attempt(lambda: made.again(**{name: PROBE[name]})).value


def _is_lost(lab: Lab, component: Component, made: Sample, name: str) -> bool:
    graph = internals.is_functional(component.layer) or isinstance(component.layer, keras.Sequential)
    if not takes(type(component.layer), name) or (graph and name == "dtype"):
        return False
    layer = _made(lab, made, name)
    if layer is None:
        return False
    value = _value(layer, name)
    # A name may be built upon: f"{name}_block".
    return PROBE[name] not in value if isinstance(value, str) else value != PROBE[name]


def _is_set(component: Component, name: str) -> bool:
    """Whether the constructor decides itself: it writes the attribute, or passes another value to the base."""
    attributes = ("dtype_policy", "_dtype_policy") if name == "dtype" else (name,)
    if any(target.attr in attributes for _, target, _ in component.source.stores("__init__")):
        return True
    for init in constructors(component.source):
        for node in init.walk():
            if isinstance(node, ast.Constant) and node.value == name:
                return True
            if isinstance(node, ast.keyword) and node.arg == name and not _forwards(node.value, name):
                return _in_base_call(init, node)
    return False


def _forwards(value: ast.expr, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(value))


def _in_base_call(init: Function, node: ast.keyword) -> bool:
    call = init.file.parents.get(node)
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"


def _base_call(init: Function) -> tuple[Function, ast.AST] | None:
    """The call of the base class's constructor."""
    for call in init.calls():
        if isinstance(call.func, ast.Attribute) and call.func.attr == "__init__":
            return init, call
    return None


def _fix(init: Function, lost: list[str]) -> str:
    if init.node.args.kwarg is not None and not set(lost) & set(init.parameters):
        return f"call super().__init__(**{init.node.args.kwarg.arg})."
    return (
        f"call super().__init__({', '.join(f'{name}={name}' for name in lost)}), or take `**kwargs` and pass them on."
    )


def _value(layer: Any, name: str) -> Any:
    return layer.dtype_policy.name if name == "dtype" else getattr(layer, name)
