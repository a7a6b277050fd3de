from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.gradients._flow import blocking, matters, steps, without_gradient
from layerwright.checks.source import text_of


@rule("LW401", "error", hides=("wrong-gradient",))
def no_gradient(lab: Lab) -> Iterator[Finding]:
    """A weight that shapes the output gets no gradient.

    ## What it does
    Differentiates a random projection of the outputs, compiled and eagerly, in both modes and at several inputs
    and weights. A trainable weight whose gradient is absent or zero every time, although the output changes with
    it, is reported, with the operation that lets no gradient through.

    ## Why is this bad
    The weight never moves. JAX trains without a word; TensorFlow and PyTorch complain only where no weight at
    all has a gradient.

    ## Example
    ```python
    class Choose(layers.Layer):
        def build(self, input_shape):
            self.w = self.add_weight(shape=(input_shape[-1], 4), name="w")

        def call(self, x):
            return ops.one_hot(ops.argmax(ops.matmul(x, self.w), axis=-1), 4, dtype=x.dtype)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Choose(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.w = self.add_weight(shape=(input_shape[-1], 4), name="w")

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return ops.softmax(ops.matmul(x, self.w), axis=-1)

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], 4)
    ```

    ## Known limits
    A straight-through estimator has a gradient and is not reported. Gradients to the inputs are not asked for:
    layers that look things up or count have none by intention.

    ## Source
    Keras issues 11157, 10321, 12521, 5521 and 4175.
    """
    silent = [i for i in without_gradient(lab) if matters(lab, i)]
    if not silent:
        return
    weights = [lab.called.get().layer.trainable_variables[i] for i in silent]
    names = ", ".join(f"`{w.path.split('/', 1)[-1]}`" for w in weights)
    cause = next(blocking(lab.components), None)
    component = cause[0] if cause is not None else lab.components[0]
    through = f": `{text_of(cause[2].func)}` lets none through" if cause is not None else ""
    yield lab.finding(
        f"{names} of `{component.name}` gets no gradient{through}.",
        expected="a gradient that isn't zero everywhere",
        got=f"None or zeros in each of {len(steps(lab))} steps, while the output changes with the weight",
        fix="use a smooth function (softmax, sigmoid), or a straight-through estimator: "
        "`y + ops.stop_gradient(hard(y) - y)`.",
        at=(cause[1], cause[2]) if cause is not None else component.source.method("call"),
    )
