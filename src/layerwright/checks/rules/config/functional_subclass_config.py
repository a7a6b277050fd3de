from __future__ import annotations

from collections.abc import Iterator

import keras

from layerwright.checks import internals
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._arguments import Argument, constructors, equal
from layerwright.checks.rules.config._models import own_model_arguments, took_graph
from layerwright.checks.rules.config._pairs import MISSING
from layerwright.checks.rules.config._saved_parts import last_line

HIDES = (
    "reload-differs",
    "config-missing-arg",
    "config-not-serializable",
    "config-extra-key",
    "config-object-not-deserialized",
    "config-no-super",
    "init-no-kwargs",
    "model-config-defaults",
)


@rule("LW113", "error", hides=HIDES)
def functional_subclass_config(lab: Lab) -> Iterator[Finding]:
    """A subclass takes `inputs` and `outputs` and further arguments, so that neither the graph nor those are saved.

    ## What it does
    Looks at models that were made from inputs and outputs by a constructor of the user's own, and turns
    them into their config and back.

    ## Why is this bad
    Keras saves the graph only of classes whose constructor takes exactly what `keras.Model` takes. Saving works,
    loading raises "Unable to revive model from config", and `clone_model` returns a plain model without the
    subclass's methods.

    ## Example
    ```python
    class Tower(keras.Model):
        def __init__(self, inputs, outputs, temperature=1.0, **kwargs):
            super().__init__(inputs, outputs, **kwargs)
            self.temperature = temperature
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_functional_subclass_config")
    class Tower(keras.Model):
        def __init__(self, features=4, temperature=1.0, dtype=None, **kwargs):
            policy = keras.dtype_policies.get(dtype)
            inputs = keras.Input((features,), dtype=policy.variable_dtype)
            outputs = layers.Rescaling(1.0 / temperature, dtype=policy)(inputs)
            super().__init__(inputs=inputs, outputs=outputs, **kwargs)
            self.dtype_policy = policy
            self.features = features
            self.temperature = temperature

        def get_config(self):
            return {
                "name": self.name,
                "trainable": self.trainable,
                "dtype": keras.dtype_policies.serialize(self.dtype_policy),
                "features": self.features,
                "temperature": self.temperature,
            }

        @classmethod
        def from_config(cls, config, custom_objects=None):
            return cls(**config)
    ```

    ## Source
    Keras issues 20979 and 21546.
    """
    layer = lab.made.get().layer
    if not isinstance(layer, keras.Model) or not internals.is_functional(layer) or not lab.components:
        return
    component = lab.components[0]
    init = next(constructors(component.source), None)
    arguments = own_model_arguments(component)
    if init is None or not took_graph(lab.arguments()) or not arguments:
        return
    revival = lab.revived.value
    if revival is not None and type(revival.copy) is type(layer) and _are_kept(lab, layer, revival.copy, arguments):
        return
    failure = lab.serialized.failure or (revival.failure if revival is not None else None)
    names = ", ".join(f"`{a.name}`" for a in arguments)
    yield lab.finding(
        f"`{component.name}` takes {names} beside `inputs` and `outputs`, and Keras saves "
        + (f"no {names}." if revival is not None and revival.copy is not None else f"neither the graph nor {names}."),
        expected="a constructor that makes the graph from arguments that the config keeps",
        got=last_line(failure) if failure is not None else f"a copy without {names}",
        fix="make the graph inside `__init__`, and write `get_config`, or override `get_config` and `from_config`.",
        at=init,
    )


def _are_kept(lab: Lab, layer: object, copy: object, arguments: list[Argument]) -> bool:
    """Whether the copy has the attributes that the further arguments became."""
    given = lab.arguments() or {}
    received = (lab.revived.get().received or {}) if lab.revived.ok else {}
    for argument in arguments:
        value = given.get(argument.name, MISSING)
        same = equal(vars(layer).get(argument.name, MISSING), vars(copy).get(argument.name, MISSING))
        if not same and not equal(received.get(argument.name, MISSING), value):
            return False
    return True
