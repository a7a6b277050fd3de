"""Core layers and activations."""

from __future__ import annotations

import keras
import numpy as np
from keras import layers

from sweep.case import Case, Cases, floats, ids


@keras.saving.register_keras_serializable("layerwright_sweep")
def doubled(x):
    """What the `Lambda` case computes: a function that can be saved by its name."""
    return 2.0 * x


def padded_ids() -> np.ndarray:
    """Token ids with zeros at the end of the first row."""
    return np.array([[3, 1, 2, 0, 0], [5, 4, 1, 2, 3]], dtype="int32")


CASES: Cases = {
    "Dense": Case(lambda: layers.Dense(3), (floats(2, 4),)),
    "Dense, relu": Case(lambda: layers.Dense(3, activation="relu"), (floats(2, 4),)),
    "Dense, on sequences": Case(lambda: layers.Dense(3, use_bias=False), (floats(2, 5, 4),)),
    "Dense, regularized and constrained": Case(
        lambda: layers.Dense(
            3, kernel_regularizer="l2", kernel_constraint="non_neg", activity_regularizer=keras.regularizers.L1(0.1)
        ),
        (floats(2, 4),),
    ),
    "Dense, lora": Case(lambda: layers.Dense(3, lora_rank=2), (floats(2, 4),)),
    "EinsumDense": Case(lambda: layers.EinsumDense("ab,bc->ac", 3, bias_axes="c"), (floats(2, 4),)),
    "EinsumDense, open axis": Case(
        lambda: layers.EinsumDense("abc,cde->abde", (None, 2, 3), activation="tanh"), (floats(2, 5, 4),)
    ),
    "EinsumDense, lora": Case(lambda: layers.EinsumDense("ab,bc->ac", 3, lora_rank=2), (floats(2, 4),)),
    "Embedding": Case(lambda: layers.Embedding(6, 3), (ids(2, 5),)),
    "Embedding, mask_zero": Case(lambda: layers.Embedding(6, 3, mask_zero=True), (padded_ids(),)),
    "Embedding, lora": Case(lambda: layers.Embedding(6, 3, lora_rank=2), (ids(2, 5),)),
    "ReversibleEmbedding": Case(lambda: layers.ReversibleEmbedding(6, 3), (ids(2, 5),)),
    "ReversibleEmbedding, reverse": Case(
        lambda: layers.ReversibleEmbedding(6, 3, logit_soft_cap=5.0), (floats(2, 5, 3),), {"reverse": True}
    ),
    "ReversibleEmbedding, untied": Case(
        lambda: layers.ReversibleEmbedding(6, 3, tie_weights=False, mask_zero=True), (padded_ids(),)
    ),
    "Identity": Case(lambda: layers.Identity(), (floats(2, 4),)),
    "Identity, nested": Case(lambda: layers.Identity(), ({"a": floats(2, 4), "b": [floats(2, 3), ids(2, 2)]},)),
    "Lambda": Case(lambda: layers.Lambda(doubled), (floats(2, 4),)),
    "Lambda, of a lambda": Case(lambda: layers.Lambda(lambda x: 2.0 * x), (floats(2, 4),)),
    "Masking": Case(lambda: layers.Masking(), (np.concatenate([floats(2, 4, 3), np.zeros((2, 1, 3), "float32")], 1),)),
    "Activation": Case(lambda: layers.Activation("relu"), (floats(2, 4),)),
    "Activation, of a function": Case(lambda: layers.Activation(keras.ops.tanh), (floats(2, 4),)),
    "ELU": Case(lambda: layers.ELU(), (floats(2, 4),)),
    "LeakyReLU": Case(lambda: layers.LeakyReLU(0.2), (floats(2, 4),)),
    "PReLU": Case(lambda: layers.PReLU(), (floats(2, 4),)),
    "PReLU, shared axes": Case(lambda: layers.PReLU(shared_axes=[1, 2]), (floats(2, 4, 4, 3),)),
    "ReLU": Case(lambda: layers.ReLU(), (floats(2, 4),)),
    "ReLU, all arguments": Case(lambda: layers.ReLU(max_value=1.0, negative_slope=0.1, threshold=0.2), (floats(2, 4),)),
    "Softmax": Case(lambda: layers.Softmax(), (floats(2, 4),)),
    "Softmax, mask": Case(
        lambda: layers.Softmax(), (floats(2, 4),), {"mask": np.array([[True, True, False, True], [True] * 4])}
    ),
    "Softmax, two axes": Case(lambda: layers.Softmax(axis=(1, 2)), (floats(2, 3, 4),)),
}
