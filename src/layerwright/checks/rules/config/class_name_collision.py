from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._pairs import is_users
from layerwright.checks.source import Source, read


@rule("LW116", "warning", hides=("reload-differs", "not-registered", "state-not-saved", "shared-object-duplicated"))
def class_name_collision(lab: Lab) -> Iterator[Finding]:
    """Two classes go by one registered name.

    ## What it does
    Looks for another class under the registered name of the layer's class, and for two classes of one name
    within the layer.

    ## Why is this bad
    Keras looks a class up by that name when it loads a model. The one that was registered last is taken: the
    loaded model has the other layer in it, or can't be loaded.

    ## Example
    ```python
    @keras.saving.register_keras_serializable(package="docs_collision", name="Scale")
    class Doubled(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            return 2.0 * ops.cast(x, self.compute_dtype)

        def compute_output_shape(self, input_shape):
            return input_shape


    @keras.saving.register_keras_serializable(package="docs_collision", name="Scale")
    class Tripled(Doubled):
        def call(self, x):
            return 3.0 * ops.cast(x, self.compute_dtype)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_no_collision", name="Doubled")
    class Doubled(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            return 2.0 * ops.cast(x, self.compute_dtype)

        def compute_output_shape(self, input_shape):
            return input_shape


    @keras.saving.register_keras_serializable(package="docs_no_collision", name="Tripled")
    class Tripled(Doubled):
        def call(self, x):
            return 3.0 * ops.cast(x, self.compute_dtype)
    ```

    ## Source
    `keras.saving.register_keras_serializable`, which replaces what has the name already.
    """
    classes: dict[str, type] = {}
    for layer in [lab.layer, *internals.sublayers(lab.layer)] if lab.layer is not None else []:
        cls = type(layer)
        if not is_users(layer) or cls in classes.values():
            continue
        name = keras.saving.get_registered_name(cls)
        other = classes.get(name) or _registered_twin(cls, name)
        classes.setdefault(name, cls)
        if other is not None:
            where = Source(layer, lab.home)
            yield lab.finding(
                f"`{cls.__qualname__}` and `{other.__qualname__}` are both `{name}` to Keras, which confuses them.",
                expected="a registered name for each class",
                got=f"`{other.__qualname__}` of {_place(other)} under the same name",
                fix="give one of them another `name` or `package` in `register_keras_serializable`.",
                at=where,
            )


def _registered_twin(cls: type, name: str) -> type | None:
    """Another class of the same program that is registered under a name."""
    for other, known in internals.registered_names().items():
        if (
            known == name
            and other is not cls
            and isinstance(other, type)
            and not _is_same(cls, other)
            and _meet(cls, other)
        ):
            return other
    return None


def _is_same(cls: type, other: type) -> bool:
    """Whether two classes are one that was defined twice: a module or notebook cell that was run again."""
    if cls.__qualname__ != other.__qualname__ or _file(cls) != _file(other):
        return False
    file = read(_file(cls) or "")
    named = [n for n in ast.walk(file.tree) if isinstance(n, ast.ClassDef) and n.name == cls.__name__] if file else []
    return len(named) < 2


def _meet(cls: type, other: type) -> bool:
    """Whether two classes belong to one program: one package, or a module that imports the other's."""
    if cls.__module__.split(".")[0] == other.__module__.split(".")[0] or _file(cls) == _file(other):
        return True
    for one, two in ((cls, other), (other, cls)):
        known = list(vars(sys.modules.get(one.__module__, one)).values())
        if any(value is two or value is sys.modules.get(two.__module__, MISSING) for value in known):
            return True
    return False


def _file(cls: type) -> str | None:
    return getattr(sys.modules.get(cls.__module__), "__file__", None)


def _place(cls: type) -> str:
    try:
        return f"line {inspect.getsourcelines(cls)[1]}"
    except (OSError, TypeError):
        return f"`{cls.__module__}`"


MISSING: Any = object()
