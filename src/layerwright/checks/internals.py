"""Every private API of Keras that the checks use, each with what stands in for it where it is gone."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any

import keras

from layerwright.checks.facts import OLD_ADD_WEIGHT


def sublayers(layer: Any) -> list[Any]:
    """Every layer that Keras tracks below this one, itself excluded; each once."""
    try:
        found = list(layer._flatten_layers(include_self=False))
    except AttributeError:
        found = list(getattr(layer, "layers", []))
    unique = {id(child): child for child in found if child is not layer}
    return list(unique.values())


def own_layers(layer: Any) -> list[Any]:
    """The layers that Keras tracks directly on this one."""
    return list(getattr(layer, "_layers", []))


def own_variables(layer: Any) -> list[Any]:
    """The variables that Keras tracks on this very layer, those of its sublayers left out."""
    return [*getattr(layer, "_trainable_variables", ()), *getattr(layer, "_non_trainable_variables", ())]


def backing(variable: Any) -> Any:
    """The framework's own variable or array in which a Keras variable keeps its value."""
    return getattr(variable, "_value", None)


def build_shapes(layer: Any) -> Any:
    """The shapes with which a layer's `build` was called, or None where it was not."""
    return getattr(layer, "_build_shapes_dict", None)


def initialised(layer: Any) -> bool:
    """Whether `Layer.__init__` has run on a layer."""
    return not getattr(layer, "_lock", True)


@contextmanager
def initialising() -> Iterator[list[tuple[Any, dict[str, Any], dict[str, Any]]]]:
    """Record every layer on which `Layer.__init__` runs meanwhile, with its attributes before and after."""
    runs: list[tuple[Any, dict[str, Any], dict[str, Any]]] = []
    original = keras.layers.Layer.__init__

    @wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        before = dict(vars(self))
        original(self, *args, **kwargs)
        runs.append((self, before, dict(vars(self))))

    keras.layers.Layer.__init__ = __init__
    try:
        yield runs
    finally:
        keras.layers.Layer.__init__ = original


@contextmanager
def creating(note: Callable[[Any], None]) -> Iterator[None]:
    """Call `note` with every layer, variable, seed generator and metric that comes into being meanwhile."""
    classes = (keras.Variable, keras.random.SeedGenerator, keras.metrics.Metric)
    inits = [(cls, cls.__init__, "__init__" in vars(cls)) for cls in classes]
    new = vars(keras.Operation)["__new__"]
    make = new.__func__ if isinstance(new, staticmethod) else new

    def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:
        made = make(cls, *args, **kwargs)
        if isinstance(made, keras.layers.Layer):
            note(made)
        return made

    def noted(original: Any) -> Any:
        @wraps(original)
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            note(self)
            original(self, *args, **kwargs)

        return __init__

    keras.Operation.__new__ = staticmethod(__new__)
    for cls, original, _ in inits:
        cls.__init__ = noted(original)
    try:
        yield
    finally:
        keras.Operation.__new__ = new
        for cls, original, own in inits:
            if own:
                cls.__init__ = original
            else:
                del cls.__init__


def accept_legacy_add_weight() -> None:
    """Take Keras 2's `add_weight("w", shape, dtype, initializer)` too, until `global_state_kept` ends."""
    original = keras.layers.Layer.add_weight

    @wraps(original)
    def add_weight(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and (args[0] is None or isinstance(args[0], str)):
            kwargs |= dict(zip(OLD_ADD_WEIGHT, args, strict=False))
            args = ()
        known = inspect.signature(original).parameters
        return original(self, *args, **{name: value for name, value in kwargs.items() if name in known})

    keras.layers.Layer.add_weight = add_weight


def mask_of(tensor: Any) -> Any:
    """The mask that travels with a tensor, or None."""
    return getattr(tensor, "_keras_mask", None)


def with_mask(tensor: Any, mask: Any) -> Any:
    """The tensor with a mask travelling with it, as `Embedding(mask_zero=True)` leaves it."""
    try:
        from keras.src.backend import set_keras_mask

        set_keras_mask(tensor, mask)
    except ImportError:
        tensor._keras_mask = mask
    return tensor


def is_default(method: Any) -> bool:
    """Whether a method is the one that `Layer` or `Operation` itself brings."""
    return bool(getattr(method, "_is_default", False))


@cache
def layer_attributes(model: bool = False) -> frozenset[str]:
    """The instance attributes of a bare `Layer` (or `Model`): Keras' own, not the user's."""
    names = set(vars(keras.Model() if model else keras.layers.Layer()))
    if model:
        ends = keras.Input((1,))
        names |= set(vars(keras.Model(ends, keras.layers.Identity()(ends)))) | set(vars(keras.Sequential()))
    names |= {"_build_shapes_dict", "_input_shape_arg", "_compile_metrics", "_saved_model_inputs_spec"}
    return frozenset(names)


@cache
def read_only_attributes() -> frozenset[str]:
    """Properties of `Layer` without a setter: assigning to one raises."""
    members = inspect.getmembers_static(keras.layers.Layer, lambda member: isinstance(member, property))
    return frozenset(name for name, member in members if member.fset is None)


def is_functional(model: Any) -> bool:
    """Whether a model was made from inputs and outputs."""
    try:
        from keras.src.models.functional import Functional
    except ImportError:
        return hasattr(model, "_functional") or "_operations" in vars(model)
    return isinstance(model, Functional)


def is_cell(layer: Any) -> bool:
    """Whether a layer is a recurrent cell: it has a `state_size` and is called with inputs and states."""
    if not hasattr(type(layer), "state_size") and "state_size" not in vars(layer):
        return False
    return len(inspect.signature(layer.call).parameters) >= 2


class Made:
    """What layers were constructed with, while `recording` was on."""

    def __init__(self) -> None:
        # The layer is kept as well, so that its id isn't given to another.
        self._arguments: dict[int, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {}

    def add(self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Note what a layer was constructed with; what was noted of it before is overwritten."""
        self._arguments[id(layer)] = (layer, args, kwargs)

    def of(self, layer: Any) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """The constructor's arguments, or None where it was made before recording began."""
        found = self._arguments.get(id(layer))
        return None if found is None else (found[1], found[2])

    def last(self, cls: type) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
        """The newest layer of exactly this class, even one whose constructor raised, and its arguments."""
        made = [found for found in self._arguments.values() if type(found[0]) is cls]
        return made[-1] if made else None


@contextmanager
def recording() -> Iterator[Made]:
    """Remember the constructor arguments of every layer made meanwhile."""
    made = Made()
    # Model.__new__ calls Operation.__new__ without the arguments, so the outer one overwrites what the inner one saw.
    classes = (keras.Operation, keras.Model)
    originals = [(cls, vars(cls).get("__new__")) for cls in classes]

    def recorded(original: Any) -> Any:
        function = original.__func__ if isinstance(original, staticmethod) else original

        def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:
            layer = function(cls, *args, **kwargs)
            made.add(layer, args, kwargs)
            return layer

        return staticmethod(__new__)

    try:
        for cls, original in originals:
            if original is not None:
                cls.__new__ = recorded(original)
        yield made
    finally:
        for cls, original in originals:
            if original is not None:
                cls.__new__ = original


@contextmanager
def drawing(note: Callable[[Any], None]) -> Iterator[None]:
    """Tell of every seed from which `keras.random` draws meanwhile, as it was given: None, a number or a generator."""
    places = [
        "keras.src.random.seed_generator",
        *(f"keras.src.backend.{keras.backend.backend()}.{m}" for m in ("random", "image")),
    ]
    modules = [m for m in map(sys.modules.get, places) if hasattr(m, "draw_seed")]
    originals = [(module, vars(module)["draw_seed"]) for module in modules]

    def noted(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def draw_seed(seed: Any) -> Any:
            note(seed)
            return original(seed)

        return draw_seed

    try:
        for module, original in originals:
            vars(module)["draw_seed"] = noted(original)
        yield
    finally:
        for module, original in originals:
            vars(module)["draw_seed"] = original


@contextmanager
def global_state_kept() -> Iterator[None]:
    """Leave Keras' global state (policy, seeds, registries, automatic names) as it was."""
    policy, floatx, epsilon = keras.config.dtype_policy(), keras.config.floatx(), keras.config.epsilon()
    filtering = keras.config.is_traceback_filtering_enabled()
    objects = keras.saving.get_custom_objects()
    registered = dict(objects)
    names = registered_names()
    names_before = dict(names)
    add_weight = keras.layers.Layer.add_weight
    state = {name: value.copy() if isinstance(value, dict | list | set) else value for name, value in _state().items()}
    keras.config.disable_traceback_filtering()
    try:
        yield
    finally:
        keras.layers.Layer.add_weight = add_weight
        keras.config.set_floatx(floatx)
        keras.config.set_dtype_policy(policy)
        keras.config.set_epsilon(epsilon)
        if filtering:
            keras.config.enable_traceback_filtering()
        _restore(objects, registered)
        _restore(names, names_before)
        # What was made global meanwhile: the global seed, the counters of automatic names, scopes left open.
        _restore(_state(), state)


def _restore(current: dict[Any, Any], before: dict[Any, Any]) -> None:
    current.clear()
    current.update(before)


def registered_names() -> dict[Any, Any]:
    """The registered name of every registered class and function."""
    try:
        from keras.src.saving.object_registration import GLOBAL_CUSTOM_NAMES
    except ImportError:
        return {}
    names: dict[Any, Any] = GLOBAL_CUSTOM_NAMES
    return names


def _state() -> dict[str, Any]:
    try:
        from keras.src.backend.common.global_state import GLOBAL_STATE_TRACKER
    except ImportError:
        return {}
    state: dict[str, Any] = vars(GLOBAL_STATE_TRACKER)
    return state


def seed_everything(seed: int) -> None:
    """Seed Python, NumPy, Keras and the running framework; `keras.utils.set_random_seed` would import TensorFlow."""
    try:
        from keras.src.backend.common import global_state
    except ImportError:
        keras.utils.set_random_seed(seed)
        return
    import random

    import numpy as np

    from layerwright.checks import engines

    random.seed(seed)
    np.random.seed(seed)
    global_state.set_global_attribute("global_random_seed", seed)
    global_state.set_global_attribute("global_seed_generator", None)
    engines.current().seed(seed)


def is_default_spec(cls: type) -> bool:
    """Whether a class leaves `compute_output_spec` as `Layer` (or `Model`) has it."""
    return cls.compute_output_spec in (  # type: ignore[attr-defined]
        keras.layers.Layer.compute_output_spec,
        keras.Model.compute_output_spec,
    )


def forget_uninitialized_variables() -> None:
    """Drop the variables that a stateless scope would initialise at its end, for layers that are thrown away."""
    try:
        from keras.src.backend.common import global_state
    except ImportError:
        return
    global_state.set_global_attribute("uninitialized_variables", [])


@contextmanager
def tensorflow_kept_out() -> Iterator[None]:
    """Keep Keras from importing TensorFlow when it serializes something on another backend.

    `serialize_keras_object` asks `tf.available`, which imports TensorFlow (seconds, and 400 MB) to learn whether an
    object is a `tf.TensorShape`; where TensorFlow isn't imported yet, none can be.
    """
    try:
        from keras.src.saving import serialization_lib
    except ImportError:
        yield
        return
    real = getattr(serialization_lib, "tf", None)
    if real is None:
        yield
        return
    serialization_lib.tf = _ImportedOnly(real)
    try:
        yield
    finally:
        serialization_lib.tf = real


class _ImportedOnly:
    """A lazy module that says it is available only once somebody imported it."""

    def __init__(self, real: Any) -> None:
        self._real = real

    @property
    def available(self) -> bool:
        return "tensorflow" in sys.modules and bool(self._real.available)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)
