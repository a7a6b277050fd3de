from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._arguments import sample, takes
from layerwright.checks.rules.config._saved_parts import parts

OTHER = {"name": "layerwright_probe", "trainable": False, "dtype": "mixed_bfloat16"}


@rule("LW103", "warning", hides=("reload-differs", "config-not-idempotent"))
def config_no_super(lab: Lab) -> Iterator[Finding]:
    """`get_config()` doesn't start from the base class's config.

    ## What it does
    Looks for `name`, `trainable` and `dtype` in the config, and at what becomes of them in a copy.

    ## Why is this bad
    A frozen layer in mixed precision comes back trainable, in float32 and under another name. Nothing is said.

    ## Example
    ```python
    class Shift(keras.layers.Layer):
        def __init__(self, by=1.0, **kwargs):
            super().__init__(**kwargs)
            self.by = by

        def call(self, x):
            return x + self.by

        def get_config(self):
            return {"by": self.by}
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_config_no_super")
    class Shift(keras.layers.Layer):
        def __init__(self, by=1.0, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.by = by

        def call(self, x):
            return ops.cast(x, self.compute_dtype) + self.by

        def compute_output_shape(self, input_shape):
            return input_shape

        def get_config(self):
            return {**super().get_config(), "by": self.by}
    ```

    ## Source
    Keras issue 19745.
    """
    for component in parts(lab):
        written = component.source.method("get_config")
        config = lab.attempt(component.layer.get_config).value
        if written is None or not isinstance(config, dict):
            continue
        missing = [name for name in _expected(component.layer) if name not in config]
        lost = _lost(lab, component, missing) if missing else []
        if lost:
            names = ", ".join(f"`{name}`" for name in lost)
            yield lab.finding(
                f"`{component.name}.get_config()` leaves out {names}, which a loaded layer then has by default.",
                expected="the keys of `super().get_config()` among its own",
                got=", ".join(f"`{key}`" for key in config) or "an empty config",
                fix="return {**super().get_config(), ...}.",
                at=written,
            )


def _expected(layer: Any) -> tuple[str, ...]:
    graph = internals.is_functional(layer) or isinstance(layer, keras.Sequential)
    return ("name", "trainable") if graph else ("name", "trainable", "dtype")


def _lost(lab: Lab, component: Component, missing: list[str]) -> list[str]:
    """Those of the missing keys that a copy doesn't get back in another way."""
    made = lab.attempt(lambda: sample(lab, component)).value
    changed = {name: OTHER[name] for name in missing if takes(type(component.layer), name)}
    if made is None or not changed:
        return missing
    done = lab.attempt(lambda: made.again(**changed))
    if not done.ok:
        return missing
    layer, copy = done.get(), lab.revive(done.get()).copy
    if copy is None:
        return missing
    return [name for name in missing if name not in changed or _value(layer, name) != _value(copy, name)]


def _value(layer: Any, name: str) -> Any:
    return layer.dtype_policy.name if name == "dtype" else getattr(layer, name)
