"""Layers that normalize."""

from __future__ import annotations

from keras import layers

from sweep.case import Case, Cases, floats, mask

CASES: Cases = {
    "BatchNormalization": Case(lambda: layers.BatchNormalization(), (floats(4, 3),)),
    "BatchNormalization, training": Case(lambda: layers.BatchNormalization(), (floats(4, 3),), {"training": True}),
    "BatchNormalization, of images": Case(lambda: layers.BatchNormalization(scale=False), (floats(2, 4, 5, 3),)),
    "BatchNormalization, axis 1": Case(lambda: layers.BatchNormalization(axis=1, center=False), (floats(2, 3, 4, 5),)),
    "BatchNormalization, mask": Case(lambda: layers.BatchNormalization(), (floats(2, 5, 3),), {"mask": mask(2, 5)}),
    "BatchNormalization, renorm": Case(lambda: layers.BatchNormalization(renorm=True), (floats(4, 3),), since="3.14"),
    "GroupNormalization": Case(lambda: layers.GroupNormalization(groups=2), (floats(2, 5, 4),)),
    "GroupNormalization, instance": Case(lambda: layers.GroupNormalization(groups=-1), (floats(2, 4, 5, 3),)),
    "LayerNormalization": Case(lambda: layers.LayerNormalization(), (floats(2, 4),)),
    "LayerNormalization, two axes": Case(
        lambda: layers.LayerNormalization(axis=(1, 2), center=False, scale=False), (floats(2, 3, 4),)
    ),
    "RMSNormalization": Case(lambda: layers.RMSNormalization(), (floats(2, 4),)),
    "SpectralNormalization": Case(lambda: layers.SpectralNormalization(layers.Dense(3)), (floats(2, 4),)),
    "SpectralNormalization, of Conv2D": Case(
        lambda: layers.SpectralNormalization(layers.Conv2D(4, 3), power_iterations=2), (floats(2, 6, 5, 3),)
    ),
    "UnitNormalization": Case(lambda: layers.UnitNormalization(), (floats(2, 4),)),
    "UnitNormalization, axis 1": Case(lambda: layers.UnitNormalization(axis=1), (floats(2, 3, 4),)),
}
