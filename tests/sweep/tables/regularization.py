"""Dropout, noise and activity regularization: identities outside training."""

from __future__ import annotations

from keras import layers

from sweep.case import Case, Cases, floats

CASES: Cases = {
    "ActivityRegularization": Case(lambda: layers.ActivityRegularization(l1=0.1, l2=0.2), (floats(2, 4),)),
    "AlphaDropout": Case(lambda: layers.AlphaDropout(0.5, seed=1), (floats(2, 4),)),
    "Dropout": Case(lambda: layers.Dropout(0.5), (floats(2, 4),)),
    "Dropout, noise shape": Case(lambda: layers.Dropout(0.5, noise_shape=(None, 1, 4), seed=1), (floats(2, 3, 4),)),
    "Dropout, rate zero": Case(lambda: layers.Dropout(0.0), (floats(2, 4),)),
    "Dropout, training": Case(lambda: layers.Dropout(0.5, seed=1), (floats(2, 4),), {"training": True}),
    "GaussianDropout": Case(lambda: layers.GaussianDropout(0.5), (floats(2, 4),)),
    "GaussianNoise": Case(lambda: layers.GaussianNoise(0.5), (floats(2, 4),)),
    "SpatialDropout1D": Case(lambda: layers.SpatialDropout1D(0.5), (floats(2, 5, 3),)),
    "SpatialDropout2D": Case(lambda: layers.SpatialDropout2D(0.5), (floats(2, 4, 5, 3),)),
    "SpatialDropout3D": Case(lambda: layers.SpatialDropout3D(0.5), (floats(2, 3, 4, 4, 2),)),
}
