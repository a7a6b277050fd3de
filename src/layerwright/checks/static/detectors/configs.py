"""`get_config`: what it leaves out, and what comes back from it as something else."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.facts import BASE_ARGUMENTS
from layerwright.checks.source import text_of
from layerwright.checks.static import names
from layerwright.checks.static.code import Code
from layerwright.checks.static.config_keys import Keys, keys_of
from layerwright.checks.static.detector import Fault, reads
from layerwright.checks.static.reach import calls, reach
from layerwright.checks.static.view import ClassView

SERIALIZERS = frozenset({"serialize", "serialize_keras_object"})


@reads("config-missing-arg")
def config_missing_arg(view: ClassView) -> Iterator[Fault]:
    """A constructor argument that `get_config` doesn't hold, and without which a copy is another layer."""
    init, keys = view.method("__init__"), keys_of(view)
    if init is None or keys is None or not keys.from_super or not view.plain or view.is_abstract:
        return
    if view.method("from_config") is not None:
        return
    for parameter in init.own_parameters:
        name = parameter.arg
        if name in keys.names or name in BASE_ARGUMENTS or name == "activity_regularizer":
            continue
        required = name not in init.defaults
        if required or _is_kept_as_it_is(view, init, name):
            yield Fault(
                f"The source of `{keys.code.said}` leaves out `{name}`, "
                + (
                    "so that a saved layer can't be loaded."
                    if required
                    else "which a loaded layer then has by default."
                ),
                keys.code.node,
                f'a key "{name}" in the config',
                "the keys " + (", ".join(f"`{key}`" for key in sorted(keys.names)) or "of the base class"),
                f'add "{name}": self.{name} to what `get_config` returns.',
                "error" if required else None,
            )


def _is_kept_as_it_is(view: ClassView, init: Code, name: str) -> bool:
    """Whether an argument is kept under its own name and used when the layer is called or built."""
    stored = [s for s in view.attributes.get(name, []) if s.code is init]
    kept = len(stored) == 1 and isinstance(stored[0].value, ast.Name) and stored[0].value.id == name
    return kept and any(
        isinstance(node, ast.Attribute) and code.dotted(node) == f"self.{name}" and isinstance(node.ctx, ast.Load)
        for code in reach(view, "call", "build")
        for node in code.nodes
    )


@reads("config-no-super")
def config_no_super(view: ClassView) -> Iterator[Fault]:
    """A config that is made from nothing."""
    keys = keys_of(view)
    if keys is None or keys.from_super or not view.plain or view.is_abstract or view.method("from_config") is not None:
        return
    missing = [name for name in BASE_ARGUMENTS if name not in keys.names]
    if len(missing) == len(BASE_ARGUMENTS):
        yield Fault(
            f"The source of `{keys.code.said}` leaves out {', '.join(f'`{n}`' for n in missing)}, which a loaded "
            "layer then has by default.",
            keys.code.node,
            "the keys of `super().get_config()` among its own",
            ", ".join(f"`{key}`" for key in sorted(keys.names)) or "an empty config",
            "return {**super().get_config(), ...}.",
        )


@reads("config-snapshot")
def config_snapshot(view: ClassView) -> Iterator[Fault]:
    """A config that was taken in the constructor."""
    code = view.method("get_config")
    for store in view.stores:
        taken = store.makers <= {"super.get_config", "self.get_config"} and bool(store.makers)
        if code is None or not taken or store.code.name != "__init__":
            continue
        if any(code.dotted(node) == f"self.{store.name}" for node in code.nodes if isinstance(node, ast.Attribute)):
            yield Fault(
                f"The source of `{code.said}` returns what `__init__` put into `self.{store.name}`, not what the "
                "layer is now.",
                store.statement,
                "the values that the layer has when it is saved",
                text_of(store.statement),
                "build the config in `get_config` from the layer's attributes.",
            )


@reads("config-object-not-deserialized")
def config_object_not_deserialized(view: ClassView) -> Iterator[Fault]:
    """A layer or function in the config that `call` calls, and that nothing turns back from a dict."""
    init, keys = view.method("__init__"), keys_of(view)
    if init is None or keys is None or not view.plain or view.method("from_config") is not None:
        return
    called = {dotted for _, _, dotted in calls(view, "call")}
    for name, value in keys.values.items():
        if f"self.{name}" not in called or not _is_object(keys, name, value):
            continue
        stored = view.attributes.get(name, [])
        raw = len(stored) == 1 and isinstance(stored[0].value, ast.Name) and stored[0].value.id == name
        if raw and stored[0].code is init and len(init.bound.get(name, ())) == 1:
            yield Fault(
                f"The source of `{view.name}` gets `{name}` back from its config as a dict, where something to call "
                "was given.",
                value,
                f"`{name}` again, made from the config's dict",
                text_of(value),
                f"write `from_config` and deserialize `{name}` there with `keras.saving.deserialize_keras_object`.",
            )


def _is_object(keys: Keys, name: str, value: ast.expr) -> bool:
    """Whether a value of the config is the attribute of the same name, as it is or serialized."""
    if isinstance(value, ast.Call) and names.last(keys.code.dotted(value.func)) in SERIALIZERS and value.args:
        value = value.args[0]
    return keys.code.dotted(value) == f"self.{name}"


@reads("not-registered")
def not_registered(view: ClassView) -> Iterator[Fault]:
    """A class under no decorator, in a file that tells Keras of it in no other way."""
    if view.is_abstract:
        return
    told = {"custom_objects", "custom_object_scope", "get_custom_objects", "CustomObjectScope"}
    known = view.file.keywords | view.file.attributes_read | view.file.imports.keys()
    if (
        view.node.decorator_list
        or told & known
        or ("register_keras_serializable" in view.file.attributes_read and _by_hand(view))
    ):
        return
    yield Fault(
        f"The source of `{view.name}` doesn't register it, so that a new process can't load a model with it.",
        view.node,
        '@keras.saving.register_keras_serializable(package="...") above the class',
        f"class {view.name}",
        'write @keras.saving.register_keras_serializable(package="...") above the class.',
    )


def _by_hand(view: ClassView) -> bool:
    """Whether the class is given to a function outside of functions: `register(...)(Name)`."""
    made = [n for n in view.file.nodes if isinstance(n, ast.Call)]
    return any(isinstance(a, ast.Name) and a.id == view.name for call in made for a in call.args)
