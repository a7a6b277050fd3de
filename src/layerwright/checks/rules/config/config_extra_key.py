from __future__ import annotations

import re
from collections.abc import Iterator

from layerwright.checks.lab import BASE_ARGUMENTS, Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._arguments import constructors, own_arguments, takes
from layerwright.checks.rules.config._saved_parts import last_line, parts, where
from layerwright.errors import nearest

REFUSALS = (
    r"unexpected keyword argument '(\w+)'",
    r"multiple values for (?:keyword )?argument '(\w+)'",
    r"Unrecognized keyword arguments passed to \w+: \{'(\w+)'",
)


@rule("LW126", "error", hides=("reload-differs", "config-missing-arg", "config-object-not-deserialized"))
def config_extra_key(lab: Lab) -> Iterator[Finding]:
    """`get_config()` returns a key that the constructor doesn't take.

    ## What it does
    Turns the layer into its config and back, and looks which key the constructor refuses.

    ## Why is this bad
    Keras makes the loaded layer with `TheClass(**config)`. Saving works; loading raises "unexpected keyword
    argument".

    ## Example
    ```python
    class Pad(keras.layers.Layer):
        def __init__(self, width=1, **kwargs):
            super().__init__(**kwargs)
            self.width = width

        def call(self, x):
            return ops.pad(x, [[0, 0], [self.width, self.width]])

        def get_config(self):
            return {**super().get_config(), "padding": self.width}
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_config_extra_key")
    class Pad(keras.layers.Layer):
        def __init__(self, width=1, **kwargs):
            super().__init__(**kwargs)
            self.width = width

        def call(self, x):
            return ops.pad(ops.cast(x, self.compute_dtype), [[0, 0], [self.width, self.width]])

        def compute_output_shape(self, input_shape):
            return (input_shape[0], input_shape[1] + 2 * self.width)

        def get_config(self):
            return {**super().get_config(), "width": self.width}
    ```

    ## Source
    `keras.Operation.from_config`.
    """
    failure = lab.revived.get().failure
    if failure is None:
        return
    refused = next((m.group(1) for m in (re.search(p, failure.text) for p in REFUSALS) if m), None)
    if refused is None or refused in BASE_ARGUMENTS:
        return
    for component in parts(lab):
        config = lab.attempt(component.layer.get_config).value or {}
        if refused in config and next(constructors(component.source), None) is not None:
            yield _finding(lab, component, refused, last_line(failure))
            return


def _finding(lab: Lab, component: Component, key: str, seen: str) -> Finding:
    names = [a.name for a in own_arguments(component.source)]
    config = lab.attempt(component.layer.get_config).get()
    close = nearest(key, [name for name in names if name not in config])
    fixed = takes(type(component.layer), key)
    if fixed:
        fix = f"take `{key}` in `__init__` and pass it on, or remove it from the config."
    else:
        fix = (
            f'write "{close[0]}" for "{key}".'
            if close
            else f"take `{key}` in `__init__`, or leave it out of the config."
        )
    return lab.finding(
        f"`{component.name}.get_config()` returns `{key}`, which `__init__` doesn't take.",
        expected="keys that the constructor takes: " + (", ".join(f"`{name}`" for name in names) or "none of its own"),
        got=seen,
        fix=fix,
        at=where(component.source, key),
    )
