from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks import internals
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._common import users
from layerwright.checks.rules.build._construction import constructed, super_call

SYMPTOMS = (
    "init-no-kwargs",
    "reserved-attribute",
    "config-no-super",
    "attribute-before-super",
    "base-arg-not-forwarded",
)


@rule("LW215", "error", hides=SYMPTOMS)
def no_super_init(lab: Lab) -> Iterator[Finding]:
    """The constructor doesn't call `super().__init__()`.

    ## What it does
    Watches whether `Layer.__init__` runs while the layer is made.

    ## Why is this bad
    Without it a layer has no dtype, no name and no account of its weights. Keras says so at the first call; on
    PyTorch the first sublayer that is assigned fails with a message about `Module.__init__()`.

    ## Example
    ```python
    class Shift(layers.Layer):
        def __init__(self, shift=1.0, **kwargs):
            self.shift = shift

        def call(self, x):
            return x + self.shift
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Shift(layers.Layer):
        def __init__(self, shift=1.0, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.shift = shift

        def call(self, x):
            return ops.cast(x, self.compute_dtype) + self.shift

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)

        def get_config(self):
            return {**super().get_config(), "shift": self.shift}
    ```

    ## Source
    keras, `layers/layer.py`: `_check_super_called`.
    """
    ran = {id(layer) for layer, _, _ in constructed(lab).runs}
    for component in users(lab):
        init = component.source.method("__init__")
        if init is None or internals.initialised(component.layer) or super_call(component.source) is not None:
            continue
        failure = next(iter(lab.failures), None)
        yield lab.finding(
            f"`{component.name}.__init__` never calls `super().__init__()`.",
            expected="`super().__init__(**kwargs)` as the first statement",
            got=failure.summary
            if failure is not None
            else f"a layer that was never initialised, {len(ran)} others were",
            fix="add `super().__init__(**kwargs)` at the top of `__init__`.",
            at=init,
        )
