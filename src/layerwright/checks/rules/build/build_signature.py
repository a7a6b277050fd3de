from __future__ import annotations

import re
from collections.abc import Iterator

from layerwright.checks.attempt import Failure
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._common import parameters_of
from layerwright.checks.source import Source

SUFFIX = re.compile(r"Received `(\w+)\(\)` argument `(\w+)`, which does not end in `_shape`")
STRANGER = re.compile(r"received `(\w+)\(\)` argument `(\w+)`, but `call\(\)` does not have argument `(\w+)`")
ARGUMENTS = re.compile(r"\b(build)\(\) (missing|takes|got)")


@rule("LW204", "error", hides=("shape-is-a-tuple",))
def build_signature(lab: Lab) -> Iterator[Finding]:
    """The arguments of `build()` don't fit those of `call()`.

    ## What it does
    Looks for what Keras says when it can't pair the arguments of `build` (or `compute_output_shape`) with those
    of `call`: each must be the name of an argument of `call` followed by `_shape`, unless there is only one.

    ## Why is this bad
    The layer can't be built, so it can't be called at all.

    ## Example
    ```python
    class Pair(layers.Layer):
        def build(self, q, k):
            self.w = self.add_weight(shape=(q[-1], k[-1]), name="w")

        def call(self, q, k):
            return ops.sum(ops.matmul(q, self.w) * k, axis=-1, keepdims=True)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Pair(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, q_shape, k_shape):
            self.w = self.add_weight(shape=(q_shape[-1], k_shape[-1]), name="w")

        def call(self, q, k):
            q, k = ops.cast(q, self.compute_dtype), ops.cast(k, self.compute_dtype)
            return ops.sum(ops.matmul(q, self.w) * k, axis=-1, keepdims=True)

        def compute_output_shape(self, q_shape, k_shape):
            return (*q_shape[:-1], 1)
    ```

    ## Source
    t-kalinowski/deep-learning-with-r-code issue 17.
    """
    failures = list(lab.failures)
    if not failures and lab.called.ok and lab.symbolic.failure is not None:
        failures = [lab.symbolic.failure]
    for failure in failures:
        for component in lab.components:
            found = _found(lab, failure, component.source, component.name)
            if found is not None:
                yield found
                return


def _found(lab: Lab, failure: Failure, source: Source, name: str) -> Finding | None:
    call = [n for n in parameters_of(source.method("call")) if n not in ("training", "mask")]
    for pattern in (SUFFIX, STRANGER, ARGUMENTS):
        found = pattern.search(failure.text)
        method = source.method(found[1]) if found is not None else None
        if found is None or method is None or (f"'{name}'" not in failure.text and pattern is not ARGUMENTS):
            continue
        if pattern is ARGUMENTS and failure.at is not None and failure.at.function == "build":
            continue
        wanted = ", ".join(f"{n}_shape" for n in call) or "input_shape"
        return lab.finding(
            f"`{name}.{found[1]}({', '.join(parameters_of(method))})` doesn't fit `call({', '.join(call)})`.",
            expected="for each argument of `call`, its name with `_shape` behind it, or a single argument for the first",
            got=failure.summary if pattern is ARGUMENTS else f"the argument `{found[2]}`",
            fix=f"write `def {found[1]}(self, {wanted})`.",
            at=method,
        )
    return None
