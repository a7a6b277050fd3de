"""Dotted names of Keras and the frameworks, brought into one form: however it was imported, `keras.layers.Dense`."""

from __future__ import annotations

# As they are imported, with what they stand for here; the longest first.
PREFIXES = {
    "tensorflow.compat.v2.keras": "keras",
    "tensorflow.keras": "keras",
    "keras.src": "keras",
    "keras.api": "keras",
}
FRAMEWORKS = ("tensorflow", "jax", "torch")
MODELS = frozenset({"Model", "Sequential", "Functional"})
# Names below `keras.layers` that are no layers.
NO_LAYERS = frozenset({"Input", "InputSpec"})
COMPANIONS = frozenset({"keras_rs", "keras_hub", "keras_cv", "keras_nlp"})


def canonical(dotted: str) -> str:
    """The one form of a dotted name."""
    for prefix, instead in PREFIXES.items():
        if dotted == prefix or dotted.startswith(prefix + "."):
            return canonical(instead + dotted[len(prefix) :])
    return dotted


def root(dotted: str | None) -> str:
    """The package of a dotted name: `keras`."""
    return (dotted or "").split(".")[0]


def last(dotted: str | None) -> str:
    """The last part of a dotted name: `Dense`."""
    return (dotted or "").rpartition(".")[2]


def is_layer(dotted: str | None) -> bool:
    """Whether a class of Keras (or of a package built on it) is a layer or a model."""
    name = last(dotted)
    if dotted is None or not name[:1].isupper() or name in NO_LAYERS:
        return False
    if root(dotted) in COMPANIONS:
        return bool({"layers", "models"} & set(dotted.split(".")))
    return root(dotted) == "keras" and (name == "Layer" or is_model(dotted) or dotted.startswith("keras.layers."))


def is_model(dotted: str | None) -> bool:
    """Whether a class of Keras is a model."""
    return root(dotted) in ("keras", *COMPANIONS) and last(dotted) in MODELS


def is_kerass(dotted: str) -> bool:
    """Whether a layer or model is one of Keras itself."""
    return root(dotted) == "keras" and is_layer(dotted)


def is_plain(dotted: str) -> bool:
    """Whether it is `keras.layers.Layer` or `keras.Model` itself."""
    return root(dotted) == "keras" and last(dotted) in ("Layer", "Model")


def is_keras(dotted: str | None, *names: str) -> bool:
    """Whether it is the thing of one of these names in Keras, such as `Variable` or `SeedGenerator`."""
    return root(dotted) == "keras" and last(dotted) in names


def on_attribute(dotted: str | None) -> tuple[str, str]:
    """The two names in `self.attribute.member`; empty ones for everything else."""
    parts = (dotted or "").split(".")
    return (parts[1], parts[2]) if len(parts) == 3 and parts[0] == "self" else ("", "")
