from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.old_weights import TAKEN, by_keyword, dropped, is_text
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._common import methods
from layerwright.checks.source import Function, Source, text_of

METHODS = ("add_weight", "add_variable")


@rule("LW206", "error")
def legacy_add_weight(lab: Lab) -> Iterator[Finding]:
    """`add_weight` is called as Keras 2 took it: the name first, or arguments that are gone.

    ## What it does
    Looks for `add_weight("kernel", shape)`: in Keras 3 the first argument is the shape, and the name goes by
    keyword. Arguments such as `synchronization` and `partitioner` no longer exist. The checks behind it go on
    as if the call were right, so that the layer's other faults are found too.

    ## Why is this bad
    The layer can't be built. In old code of Keras 2 it is the usual first error.

    ## Example
    ```python
    class Scale(layers.Layer):
        def build(self, input_shape):
            self.scale = self.add_weight("scale", shape=(input_shape[-1],))

        def call(self, x):
            return x * self.scale
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Scale(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.scale = self.add_weight(name="scale", shape=(input_shape[-1],))

        def call(self, x):
            return ops.cast(x, self.compute_dtype) * self.scale

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    Keras issue 20299.
    """
    _ = lab.called  # its failure is what is looked for
    found = False
    for component in lab.components:
        for function, call in _calls(component.source):
            gone = dropped(call)
            first = call.args[0] if call.args else None
            if first is not None and is_text(first):
                found = True
                yield _positional(lab, component.name, function, call)
            elif gone:
                found = True
                yield lab.finding(
                    f"`{component.name}` passes `{gone[0]}` to `add_weight`, which no longer takes it.",
                    expected=TAKEN,
                    got=", ".join(f"`{name}`" for name in gone),
                    fix=f"leave `{gone[0]}` out.",
                    at=(function, call),
                )
    failure = lab.legacy_add_weight
    if failure is not None and not found:
        yield lab.finding(
            f"`{lab.components[0].name if lab.components else lab.subject.name}` calls `add_weight` as Keras 2 took it.",
            expected='`add_weight(shape=..., name="...")`',
            got=failure.summary,
            fix="pass the name, and what is not a shape, by keyword.",
            at=failure,
        )


def _calls(source: Source) -> Iterator[tuple[Function, ast.Call]]:
    """Every call of this layer's own `add_weight`, wherever the user's methods make it."""
    seen: set[ast.AST] = set()
    for function in source.reachable(*methods(source)):
        for call in function.calls():
            target = call.func
            if not isinstance(target, ast.Attribute) or target.attr not in METHODS or call in seen:
                continue
            own_super = isinstance(target.value, ast.Call) and getattr(target.value.func, "id", None) == "super"
            if own_super or function.resolve(target.value, source.layer) is source.layer:
                seen.add(call)
                yield function, call


def _positional(lab: Lab, name: str, function: Function, call: ast.Call) -> Finding:
    arguments = by_keyword(call)
    return lab.finding(
        f"`{name}` passes a weight's name to `add_weight` as the first argument, which is its shape.",
        expected=f"`add_weight({', '.join(arguments)}, ...)`",
        got=f"`{text_of(call)}`",
        fix=f"write `{arguments[0]}`.",
        at=(function, call),
    )
