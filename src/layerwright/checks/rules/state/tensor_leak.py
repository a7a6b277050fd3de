from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.state._left import left_behind

SYMPTOMS = ("graph-differs", "reload-differs", "call-not-traceable")


@rule("LW707", "error", hides=SYMPTOMS)
def tensor_leak(lab: Lab) -> Iterator[Finding]:
    """`call` leaves a tensor behind: on the layer, on its class, or in a list.

    ## What it does
    Compares what the layer, its class and the module hold before and after a call, in both modes.

    ## Why is this bad
    In a compiled step the tensor is a placeholder of the trace, on TensorFlow and JAX. Read later it raises, or
    keeps the whole trace alive. On PyTorch it keeps the graph of the last step in memory; a list of them grows
    until the memory is full.

    ## Example
    ```python
    class Keeper(keras.layers.Layer):
        def call(self, x):
            self.hidden = ops.relu(x)
            return self.hidden
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Keeper(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            return ops.relu(x)

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Source
    Keras issue 16999, tf-keras issue 433.
    """
    for item in left_behind(lab):
        if not item.tensors:
            continue
        grows = "; the container grows with every call" if item.grows else ""
        yield lab.finding(
            f"`{item.method}` leaves {'tensors' if item.grows else 'a tensor'} behind in `{item.name}`{grows}.",
            expected="tensors are passed and returned; what must stay is a variable",
            got=f"`{item.name}` holds {item.after}",
            fix="return the tensor, or assign it to a weight made with `add_weight(..., trainable=False)`.",
            at=item.at,
            severity="warning" if lab.backend == "torch" and not item.grows else "error",
        )
