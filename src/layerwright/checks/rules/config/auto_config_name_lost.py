from __future__ import annotations

import inspect
from collections.abc import Iterator

from layerwright.checks import internals
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._arguments import constructors
from layerwright.checks.rules.config._saved_parts import parts


@rule("LW110", "warning")
def auto_config_name_lost(lab: Lab) -> Iterator[Finding]:
    """The automatic config leaves out `name`, because the constructor's `**kwargs` is called otherwise.

    ## What it does
    Looks for `name` in the config that Keras makes for a class without `get_config()`.

    ## Why is this bad
    Keras looks for a parameter `name`, or for one that is called exactly `kwargs`. With `**kw` the name is
    dropped in silence, and a loaded model has other layer names: `get_layer` by name fails.

    ## Example
    ```python
    @keras.saving.register_keras_serializable(package="docs_auto_config_name_lost")
    class Scale(keras.layers.Layer):
        def __init__(self, by=2.0, **options):
            super().__init__(**options)
            self.supports_masking = True
            self.by = by

        def call(self, x):
            return self.by * ops.cast(x, self.compute_dtype)

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_auto_config_name_kept")
    class Scale(keras.layers.Layer):
        def __init__(self, by=2.0, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.by = by

        def call(self, x):
            return self.by * ops.cast(x, self.compute_dtype)

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Source
    `keras.Operation.get_config`.
    """
    for component in parts(lab):
        init = next(constructors(component.source), None)
        config = lab.attempt(component.layer.get_config).value
        if init is None or config is None or "name" in config or not internals.is_default(component.layer.get_config):
            continue
        collected = init.node.args.kwarg
        yield lab.finding(
            f"`{component.name}` loses its name when it is saved: `__init__` has no `name` and no `**kwargs`.",
            expected="`name` in the automatic config",
            got=f"__init__{inspect.signature(init.live)}" if init.live is not None else None,
            fix=f"rename `**{collected.arg}` to `**kwargs`." if collected else "add `**kwargs` and pass them on.",
            at=init,
        )
