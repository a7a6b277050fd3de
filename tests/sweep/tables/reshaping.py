"""Layers that only move values."""

from __future__ import annotations

from keras import layers

from sweep.case import Case, Cases, floats

LINE, PLANE, SPACE = floats(2, 7, 3), floats(2, 6, 5, 3), floats(2, 5, 4, 4, 2)

CASES: Cases = {
    "Cropping1D": Case(lambda: layers.Cropping1D((1, 2)), (LINE,)),
    "Cropping2D": Case(lambda: layers.Cropping2D(((1, 2), (0, 1))), (PLANE,)),
    "Cropping2D, channels first": Case(
        lambda: layers.Cropping2D(1, data_format="channels_first"), (floats(2, 3, 6, 5),)
    ),
    "Cropping3D": Case(lambda: layers.Cropping3D(1), (SPACE,)),
    "Flatten": Case(lambda: layers.Flatten(), (floats(2, 3, 4),)),
    "Flatten, of scalars": Case(lambda: layers.Flatten(), (floats(2),)),
    "Flatten, channels first": Case(lambda: layers.Flatten(data_format="channels_first"), (floats(2, 3, 4, 5),)),
    "Permute": Case(lambda: layers.Permute((2, 1)), (floats(2, 3, 4),)),
    "RepeatVector": Case(lambda: layers.RepeatVector(3), (floats(2, 4),)),
    "Reshape": Case(lambda: layers.Reshape((2, 6)), (floats(2, 3, 4),)),
    "Reshape, open": Case(lambda: layers.Reshape((-1, 2)), (floats(2, 3, 4),)),
    "UpSampling1D": Case(lambda: layers.UpSampling1D(2), (LINE,)),
    "UpSampling2D": Case(lambda: layers.UpSampling2D((2, 3)), (PLANE,)),
    "UpSampling2D, bilinear": Case(lambda: layers.UpSampling2D(2, interpolation="bilinear"), (PLANE,)),
    "UpSampling3D": Case(lambda: layers.UpSampling3D(2), (SPACE,)),
    "ZeroPadding1D": Case(lambda: layers.ZeroPadding1D((1, 2)), (LINE,)),
    "ZeroPadding2D": Case(lambda: layers.ZeroPadding2D(((1, 2), (0, 1))), (PLANE,)),
    "ZeroPadding2D, channels first": Case(
        lambda: layers.ZeroPadding2D(1, data_format="channels_first"), (floats(2, 3, 6, 5),)
    ),
    "ZeroPadding3D": Case(lambda: layers.ZeroPadding3D(1), (SPACE,)),
}
