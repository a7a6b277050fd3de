"""Subjects for every public class of `keras.layers`, and the classes that can't be one."""

from __future__ import annotations

from sweep.case import Cases
from sweep.tables import (
    attention,
    convolution,
    core,
    foreign,
    image,
    merging,
    normalization,
    pooling,
    preprocessing,
    recurrent,
    regularization,
    reshaping,
)

FAMILIES = (
    core,
    attention,
    convolution,
    merging,
    normalization,
    pooling,
    regularization,
    reshaping,
    recurrent,
    preprocessing,
    image,
    foreign,
)
CASES: Cases = {name: case for family in FAMILIES for name, case in family.CASES.items()}

EXCLUDED = {
    "Layer": "the base class, whose call() is for subclasses to write",
    "Wrapper": "a base class, whose call() is for subclasses to write",
    "InputLayer": "the node at which a functional model begins: it is never called",
    "FlaxLayer": "wraps a module of flax, which isn't a test dependency",
    "TFSMLayer": "reloads a SavedModel from disk, and has no call() written in Python",
}
