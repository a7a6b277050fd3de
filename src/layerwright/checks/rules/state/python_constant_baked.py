from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.state._where import touched
from layerwright.checks.source import function_of, read
from layerwright.checks.walk import own_attributes

ANNEALED = re.compile(r"^(\w+_)?(temperature|temp|tau|kl_weight|kl_beta|anneal\w*)$", re.IGNORECASE)
READING = ("call", "train_step", "test_step", "compute_loss")
SETTING_UP = {
    "__init__",
    "build",
    "call",
    "from_config",
    "build_from_config",
    "get_config",
    "set_params",
    "__setattr__",
}


@rule("LW709", "note", backends=("tensorflow", "jax"))
def python_constant_baked(lab: Lab) -> Iterator[Finding]:
    """A Python number that is meant to change between steps is a constant of the compiled step.

    ## What it does
    Looks for Python floats that `call` reads and that another method of the class assigns, or whose name says
    that they are annealed (`temperature`, `tau`, `kl_weight`, ...).

    ## Why is this bad
    On TensorFlow and JAX the compiled step keeps the value that the number had when it was traced. A callback
    that lowers it after each epoch changes the attribute, and nothing else.

    ## Example
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Sharpen(keras.layers.Layer):
        def __init__(self, temperature=1.0, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.temperature = temperature

        def call(self, x):
            return ops.softmax(ops.cast(x, self.compute_dtype) / self.temperature)

        def compute_output_shape(self, input_shape):
            return input_shape

        def get_config(self):
            return {**super().get_config(), "temperature": self.temperature}
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Sharpen(keras.layers.Layer):
        def __init__(self, temperature=1.0, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.start = temperature

        def build(self, input_shape):
            start = keras.initializers.Constant(self.start)
            self.temperature = self.add_weight(shape=(), initializer=start, trainable=False, name="temperature")

        def call(self, x):
            return ops.softmax(ops.cast(x, self.compute_dtype) / self.temperature)

        def compute_output_shape(self, input_shape):
            return input_shape

        def get_config(self):
            return {**super().get_config(), "temperature": self.start}
    ```

    ## Known limits
    A number that nothing in the class changes and whose name is an ordinary one (`rate`, `epsilon`, `alpha`) is
    taken for a constant.

    ## Source
    Keras issue 16999.
    """
    for component in lab.components:
        for name, value in own_attributes(component.layer).items():
            if isinstance(value, bool) or not isinstance(value, float | int):
                continue
            at = touched(component.source, name, *READING)
            if at is None or not component.source.reads(name, *READING):
                continue
            setter = _setter(component, name) or _callback(component, name)
            if setter is None and not (isinstance(value, float) and ANNEALED.match(name)):
                continue
            changed = f"`{setter}` changes" if setter else "a callback changes"
            yield lab.finding(
                f"`{at[0].name}` reads the Python number `self.{name}`, which a compiled step keeps as it was when it was traced.",
                expected=f"a non-trainable weight, if it is to follow what {changed}",
                got=f"self.{name} = {value!r}",
                fix=f"make `self.{name}` with `add_weight(shape=(), trainable=False, ...)` and change it with `assign`.",
                at=at,
            )


def _setter(component: Component, name: str) -> str | None:
    """A method beside the constructor, `build` and `call` that assigns the attribute."""
    source = component.source
    reached = {id(f.node) for f in source.reachable(*READING, "__init__", "build", "from_config", "build_from_config")}
    for cls in source.cls.__mro__:
        for method, member in vars(cls).items():
            live = member.fset if isinstance(member, property) else getattr(member, "__func__", member)
            function = function_of(live) if live is not None and method not in SETTING_UP else None
            if function is None or id(function.node) in reached or not source.home(function.path):
                continue
            if any(target.attr == name for _, target, _ in source.stores(method)):
                return method
    return None


def _callback(component: Component, name: str) -> str | None:
    """A method of a callback in the same file that assigns an attribute of this name."""
    file = read(component.source.path or "")
    for node in ast.walk(file.tree) if file is not None else ():
        if isinstance(node, ast.FunctionDef) and re.match(r"on_(epoch|batch|train|predict|test)", node.name):
            for inner in ast.walk(node):
                stored = isinstance(inner, ast.Attribute) and inner.attr == name and isinstance(inner.ctx, ast.Store)
                if stored and getattr(inner.value, "id", "") != "self":  # type: ignore[attr-defined]
                    return node.name
    return None
