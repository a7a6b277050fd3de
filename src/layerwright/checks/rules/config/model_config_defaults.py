from __future__ import annotations

from collections.abc import Iterator

import keras

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._arguments import equal
from layerwright.checks.rules.config._models import forgets_arguments, own_model_arguments
from layerwright.checks.rules.config._pairs import MISSING
from layerwright.checks.rules.config._saved_parts import parts


@rule("LW111", "error", hides=("reload-differs", "config-not-serializable", "auto-config-unsupported"))
def model_config_defaults(lab: Lab) -> Iterator[Finding]:
    """A model without `get_config()` saves the defaults of its constructor, not the values that were passed.

    ## What it does
    Looks for constructor arguments in subclasses of `keras.Model` (and `Sequential`) without a `get_config()`.

    ## Why is this bad
    For layers, Keras remembers the constructor's arguments. For models it sees the defaults only: a model with
    20 classes is saved as one with 10, and loading fails at the weights, or gives another model. Where an
    argument has no default, saving raises.

    ## Example
    ```python
    class Classifier(keras.Model):
        def __init__(self, classes=10, **kwargs):
            super().__init__(**kwargs)
            self.scores = layers.Dense(classes)

        def build(self, input_shape):
            self.scores.build(input_shape)

        def call(self, x):
            return self.scores(x)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_model_config_defaults")
    class Classifier(keras.Model):
        def __init__(self, classes=10, **kwargs):
            super().__init__(**kwargs)
            self.classes = classes
            self.scores = layers.Dense(classes, dtype=self.dtype_policy)

        def build(self, input_shape):
            self.scores.build(input_shape)

        def call(self, x):
            return self.scores(ops.cast(x, self.compute_dtype))

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], self.classes)

        def get_config(self):
            return {**super().get_config(), "classes": self.classes}
    ```

    ## Source
    `keras.Model.__new__`, which passes no arguments on.
    """
    for component in parts(lab):
        arguments = own_model_arguments(component)
        if not forgets_arguments(component) or not arguments:
            continue
        config = lab.attempt(component.layer.get_config).value
        given = (lab.arguments() if component.path == "self" else None) or {}
        kept = [a for a in arguments if config and equal(given.get(a.name, MISSING), config.get(a.name, MISSING))]
        if config is not None and len(kept) == len(arguments) and _other_values_are_kept(lab):
            continue
        names = ", ".join(f"`{a.name}`" for a in arguments)
        stack = isinstance(component.layer, keras.Sequential)
        yield lab.finding(
            f"`{component.name}` has no `get_config()`, and Keras doesn't save what a model's {names} "
            + ("were." if len(arguments) > 1 else "was."),
            expected=f"{names} in the config, with the values of this model",
            got=_got(config, [a.name for a in arguments]),
            fix=f'write `get_config` and return {{**super().get_config(), "{arguments[0].name}": ...}}.'
            if not stack
            else "derive from keras.Model, or write `get_config` and `from_config`.",
            at=arguments[0].init,
        )


def _got(config: dict[str, object] | None, names: list[str]) -> str:
    if config is None:
        return "get_config() raises NotImplementedError"
    held = [f"{name}={config[name]!r}" for name in names if name in config]
    return "the defaults " + ", ".join(held) if held else "keys " + ", ".join(f"`{key}`" for key in config)


def _other_values_are_kept(lab: Lab) -> bool:
    """Whether this version of Keras remembers the arguments of models after all."""

    class Probe(keras.Model):  # type: ignore[misc]
        def __init__(self, size: int = 1, **kwargs: object) -> None:
            super().__init__(**kwargs)
            self.size = size

    return bool(lab.attempt(lambda: Probe(size=2).get_config()["size"] == 2).value)
