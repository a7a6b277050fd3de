from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.shapes._causes import joins_lists
from layerwright.checks.source import Function, text_of


@rule("LW306", "error", hides=("static-batch", "call-not-traceable", "shape-is-a-tuple"))
def list_in_concat(lab: Lab) -> Iterator[Finding]:
    """A tensor is concatenated with a Python list of numbers.

    ## What it does
    Reports a `concat` or `stack` of a tensor and a literal list, where the call fails at that line.

    ## Why is this bad
    A list of numbers has one axis and no batch: it can't be joined to a batch of rows, and the message speaks of
    ranks.

    ## Example
    ```python
    class AppendFlags(layers.Layer):
        def call(self, x):
            return ops.concatenate([x, [1.0, 2.0]], axis=-1)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class AppendFlags(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            flags = ops.convert_to_tensor([[1.0, 2.0]], dtype=x.dtype)
            flags = ops.broadcast_to(flags, (ops.shape(x)[0], 2))
            return ops.concatenate([x, flags], axis=-1)

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], input_shape[-1] + 2)
    ```

    ## Source
    The second of the three articles, section 4.4.
    """
    for component in lab.components:
        for function, call, _ in component.source.calls("call"):
            if joins_lists(function, call) and _fails_at(lab, function, call):
                yield lab.finding(
                    f"`{component.name}.call()` joins a tensor with a Python list, which has no batch axis.",
                    expected="tensors of equal rank",
                    got=text_of(call),
                    fix="repeat the constant over the batch with `ops.broadcast_to` before joining.",
                    at=(function, call),
                )


def _fails_at(lab: Lab, function: Function, call: ast.Call) -> bool:
    failures = [lab.called.failure, lab.trace_failure]
    lines = range(call.lineno, (call.end_lineno or call.lineno) + 1)
    return any(
        f is not None and f.at is not None and f.at.path == function.path and f.at.line in lines for f in failures
    )
