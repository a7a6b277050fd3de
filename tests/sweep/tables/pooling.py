"""Pooling."""

from __future__ import annotations

from keras import layers

from sweep.case import Case, Cases, floats, mask

LINE, PLANE, SPACE = floats(2, 7, 3), floats(2, 6, 5, 3), floats(2, 5, 4, 4, 2)

CASES: Cases = {
    "AdaptiveAveragePooling1D": Case(lambda: layers.AdaptiveAveragePooling1D(3), (LINE,), since="3.13"),
    "AdaptiveAveragePooling2D": Case(lambda: layers.AdaptiveAveragePooling2D((3, 2)), (PLANE,), since="3.13"),
    "AdaptiveAveragePooling3D": Case(lambda: layers.AdaptiveAveragePooling3D(2), (SPACE,), since="3.13"),
    "AdaptiveMaxPooling1D": Case(lambda: layers.AdaptiveMaxPooling1D(3), (LINE,), since="3.13"),
    "AdaptiveMaxPooling2D": Case(lambda: layers.AdaptiveMaxPooling2D((3, 2)), (PLANE,), since="3.13"),
    "AdaptiveMaxPooling3D": Case(lambda: layers.AdaptiveMaxPooling3D(2), (SPACE,), since="3.13"),
    "AveragePooling1D": Case(lambda: layers.AveragePooling1D(2), (LINE,)),
    "AveragePooling2D": Case(lambda: layers.AveragePooling2D(2), (PLANE,)),
    "AveragePooling2D, same": Case(lambda: layers.AveragePooling2D(3, strides=2, padding="same"), (PLANE,)),
    "AveragePooling3D": Case(lambda: layers.AveragePooling3D(2), (SPACE,)),
    "GlobalAveragePooling1D": Case(lambda: layers.GlobalAveragePooling1D(), (LINE,)),
    "GlobalAveragePooling1D, mask": Case(lambda: layers.GlobalAveragePooling1D(), (LINE,), {"mask": mask(2, 7)}),
    "GlobalAveragePooling2D": Case(lambda: layers.GlobalAveragePooling2D(), (PLANE,)),
    "GlobalAveragePooling2D, keepdims": Case(lambda: layers.GlobalAveragePooling2D(keepdims=True), (PLANE,)),
    "GlobalAveragePooling3D": Case(lambda: layers.GlobalAveragePooling3D(), (SPACE,)),
    "GlobalMaxPooling1D": Case(lambda: layers.GlobalMaxPooling1D(), (LINE,)),
    "GlobalMaxPooling2D": Case(lambda: layers.GlobalMaxPooling2D(), (PLANE,)),
    "GlobalMaxPooling2D, channels first": Case(
        lambda: layers.GlobalMaxPooling2D(data_format="channels_first"), (floats(2, 3, 6, 5),)
    ),
    "GlobalMaxPooling3D": Case(lambda: layers.GlobalMaxPooling3D(), (SPACE,)),
    "MaxPooling1D": Case(lambda: layers.MaxPooling1D(2), (LINE,)),
    "MaxPooling2D": Case(lambda: layers.MaxPooling2D(2), (PLANE,)),
    "MaxPooling2D, same": Case(lambda: layers.MaxPooling2D(3, strides=2, padding="same"), (PLANE,)),
    "MaxPooling3D": Case(lambda: layers.MaxPooling3D(2), (SPACE,)),
}
