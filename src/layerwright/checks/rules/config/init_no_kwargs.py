from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

from layerwright.checks.attempt import Failure
from layerwright.checks.lab import BASE_ARGUMENTS, Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._arguments import constructors, takes
from layerwright.checks.rules.config._saved_parts import parts
from layerwright.checks.source import Function, function_of, keyword


@rule("LW102", "error", hides=("reload-differs", "auto-config-name-lost"))
def init_no_kwargs(lab: Lab) -> Iterator[Finding]:
    """`__init__` doesn't take the arguments that every config holds: `name`, `trainable`, `dtype`.

    ## What it does
    Turns the layer into its config and back. Where the constructor refuses `name`, `trainable` or `dtype`
    (it has no `**kwargs`, or passes a fixed value of its own beside them), the layer can't come back.

    ## Why is this bad
    `get_config()` always holds these three, even for a layer without arguments. Saving works; loading,
    cloning and copying the model raise "unexpected keyword argument 'trainable'".

    ## Example
    ```python
    class Halve(keras.layers.Layer):
        def __init__(self):
            super().__init__()

        def call(self, x):
            return x * 0.5
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_init_no_kwargs")
    class Halve(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            return ops.cast(x, self.compute_dtype) * 0.5

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Source
    Keras issue 19899.
    """
    if lab.revived.value is not None and lab.revived.get().copy is not None:
        return
    for component in parts(lab):
        found = _refused(lab, component) or _fixed(lab, component)
        if found is not None:
            yield found


def _refused(lab: Lab, component: Component) -> Finding | None:
    """The finding where a constructor doesn't take a key of the config at all."""
    source = component.source
    init = next(constructors(source), None)
    if init is None:
        return None
    keys = lab.attempt(component.layer.get_config).value
    if keys is None and source.method("get_config") is not None:
        return None
    held = [name for name in BASE_ARGUMENTS if keys is None or name in keys]
    missing = [name for name in held if not takes(source.cls, name)]
    if source.method("from_config") is not None or (not missing and init.node.args.kwarg is not None):
        named = _named_in(lab.revived.value.failure if lab.revived.value else None, "unexpected keyword argument")
        missing = [named] if named in held else []
        init = _refusing(component) or init
    if not missing:
        return None
    names = ", ".join(f"`{name}`" for name in missing)
    return lab.finding(
        f"`{component.name}.__init__` takes neither `**kwargs` nor {names}, so that a saved layer can't be loaded.",
        expected="`**kwargs`, passed on to `super().__init__(**kwargs)`",
        got=f"__init__{_signature(init)}",
        fix="add `**kwargs` to the parameters and call `super().__init__(**kwargs)`.",
        at=init,
    )


def _fixed(lab: Lab, component: Component) -> Finding | None:
    """The finding where a constructor passes its own `name`, `trainable` or `dtype` beside those of the config."""
    named = _named_in(lab.revived.value.failure if lab.revived.value else None, "multiple values for keyword argument")
    if named not in BASE_ARGUMENTS:
        return None
    for init in constructors(component.source):
        for call in init.calls():
            value = keyword(call, named)
            if isinstance(call.func, ast.Attribute) and call.func.attr == "__init__" and value is not None:
                return lab.finding(
                    f"`{component.name}.__init__` fixes `{named}` beside `**kwargs`: a saved layer can't be loaded.",
                    expected=f"the `{named}` of the config",
                    got=f"two values for `{named}`",
                    fix=f'write kwargs.setdefault("{named}", {ast.unparse(value)}) and pass `**kwargs` only.',
                    at=(init, call),
                )
    return None


def _refusing(component: Component) -> Function | None:
    """The first constructor on the way up that takes no `**kwargs`."""
    for cls in component.source.cls.__mro__:
        init = function_of(vars(cls).get("__init__"))
        if init is not None and init.node.args.kwarg is None:
            return init if component.source.home(init.path) else None
    return None


def _named_in(failure: Failure | None, words: str) -> str:
    found = re.search(words + r" '(\w+)'", failure.text) if failure is not None else None
    return found.group(1) if found else ""


def _signature(init: Function) -> str:
    return str(inspect.signature(init.live)) if init.live is not None else "()"
