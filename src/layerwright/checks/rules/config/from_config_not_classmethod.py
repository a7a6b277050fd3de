from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import FunctionType

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._saved_parts import parts

HIDES = ("reload-differs", "config-object-not-deserialized", "init-no-kwargs", "config-missing-arg")


@rule("LW112", "error", hides=HIDES)
def from_config_not_classmethod(lab: Lab) -> Iterator[Finding]:
    """`from_config` is a plain method.

    ## What it does
    Looks at how `from_config` is defined in the user's classes.

    ## Why is this bad
    Keras calls `TheClass.from_config(config)`. A plain method takes the config for `self` and raises "missing
    1 required positional argument: 'config'" when the model is loaded.

    ## Example
    ```python
    class Shift(keras.layers.Layer):
        def __init__(self, by=1.0, **kwargs):
            super().__init__(**kwargs)
            self.by = by

        def call(self, x):
            return x + self.by

        def get_config(self):
            return {**super().get_config(), "by": self.by}

        def from_config(cls, config):
            return cls(**config)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_from_config_not_classmethod")
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

        @classmethod
        def from_config(cls, config):
            return cls(**config)
    ```

    ## Source
    `keras.Operation.from_config`.
    """
    for component in parts(lab):
        method = component.source.method("from_config")
        member = inspect.getattr_static(type(component.layer), "from_config", None)
        member = member.__func__ if isinstance(member, staticmethod) else member
        if method is None or not isinstance(member, FunctionType):
            continue
        needed = [
            p
            for p in inspect.signature(member).parameters.values()
            if p.default is p.empty and p.kind < p.VAR_POSITIONAL
        ]
        if len(needed) >= 2:
            yield lab.finding(
                f"`{component.name}.from_config` isn't a class method: Keras passes the config as `{needed[0].name}`.",
                expected="@classmethod above `from_config`",
                got=f"def from_config{inspect.signature(member)}",
                fix="write @classmethod above it.",
                at=method,
            )
