"""Convolutions, transposed, depthwise and separable ones."""

from __future__ import annotations

from keras import layers

from sweep.case import Case, Cases, floats

LINE, PLANE, SPACE = floats(2, 7, 3), floats(2, 6, 5, 3), floats(2, 5, 4, 4, 2)
CHANNELS_FIRST = "TensorFlow convolves channels-first on a GPU only"

CASES: Cases = {
    "Conv1D": Case(lambda: layers.Conv1D(4, 3), (LINE,)),
    "Conv1D, causal": Case(lambda: layers.Conv1D(4, 3, padding="causal", dilation_rate=2, activation="relu"), (LINE,)),
    "Conv2D": Case(lambda: layers.Conv2D(4, 3), (PLANE,)),
    "Conv2D, same and strided": Case(lambda: layers.Conv2D(4, 3, strides=2, padding="same", use_bias=False), (PLANE,)),
    "Conv2D, dilated": Case(lambda: layers.Conv2D(4, (2, 3), dilation_rate=2, activation="gelu"), (PLANE,)),
    "Conv2D, groups": Case(lambda: layers.Conv2D(6, 3, groups=3), (PLANE,)),
    "Conv2D, channels first": Case(
        lambda: layers.Conv2D(4, 3, data_format="channels_first"),
        (floats(2, 3, 6, 5),),
        backends=("jax", "torch"),
        why=CHANNELS_FIRST,
    ),
    "Conv3D": Case(lambda: layers.Conv3D(3, 2), (SPACE,)),
    "Conv1DTranspose": Case(lambda: layers.Conv1DTranspose(4, 3, strides=2), (LINE,)),
    "Conv1DTranspose, same": Case(lambda: layers.Conv1DTranspose(4, 3, strides=2, padding="same"), (LINE,)),
    "Conv2DTranspose": Case(lambda: layers.Conv2DTranspose(4, 3, strides=2), (PLANE,)),
    "Conv2DTranspose, output padding": Case(
        lambda: layers.Conv2DTranspose(4, 3, strides=2, padding="same", output_padding=1), (PLANE,)
    ),
    "Conv3DTranspose": Case(lambda: layers.Conv3DTranspose(3, 2), (SPACE,)),
    "DepthwiseConv1D": Case(lambda: layers.DepthwiseConv1D(3), (LINE,)),
    "DepthwiseConv2D": Case(lambda: layers.DepthwiseConv2D(3, depth_multiplier=2), (PLANE,)),
    "DepthwiseConv2D, strided": Case(lambda: layers.DepthwiseConv2D(3, strides=2, padding="same"), (PLANE,)),
    "SeparableConv1D": Case(lambda: layers.SeparableConv1D(4, 3), (LINE,)),
    "SeparableConv1D, same": Case(lambda: layers.SeparableConv1D(4, 3, padding="same", depth_multiplier=2), (LINE,)),
    "SeparableConv2D": Case(lambda: layers.SeparableConv2D(4, 3, activation="relu"), (PLANE,)),
}
