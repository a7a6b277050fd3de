"""Layers that merge several inputs."""

from __future__ import annotations

from keras import layers

from sweep.case import Case, Cases, floats

LEFT, RIGHT = floats(2, 4), floats(2, 4, seed=1)

CASES: Cases = {
    "Add": Case(lambda: layers.Add(), ([LEFT, RIGHT],)),
    "Add, of three": Case(lambda: layers.Add(), ([LEFT, RIGHT, LEFT],)),
    "Add, broadcast": Case(lambda: layers.Add(), ([floats(2, 3, 4), floats(2, 1, 4)],)),
    "Average": Case(lambda: layers.Average(), ([LEFT, RIGHT],)),
    "Concatenate": Case(lambda: layers.Concatenate(), ([LEFT, floats(2, 3)],)),
    "Concatenate, axis 1": Case(lambda: layers.Concatenate(axis=1), ([floats(2, 3, 4), floats(2, 2, 4)],)),
    "Dot": Case(lambda: layers.Dot(axes=1), ([LEFT, RIGHT],)),
    "Dot, normalized": Case(lambda: layers.Dot(axes=(2, 1), normalize=True), ([floats(2, 3, 4), floats(2, 4, 5)],)),
    "Maximum": Case(lambda: layers.Maximum(), ([LEFT, RIGHT],)),
    "Minimum": Case(lambda: layers.Minimum(), ([LEFT, RIGHT],)),
    "Multiply": Case(lambda: layers.Multiply(), ([LEFT, RIGHT],)),
    "Subtract": Case(lambda: layers.Subtract(), ([LEFT, RIGHT],)),
}
