"""Preprocessing of numbers, categories, text and sound."""

from __future__ import annotations

import numpy as np
from keras import layers

from sweep.case import Case, Cases, floats, ids, positives

STRINGS = "strings are tensors on TensorFlow only: elsewhere the layer runs eagerly and can't be traced"
WORDS = np.array([["red", "blue"], ["green", "lilac"]])
SENTENCES = np.array(["the red cat", "a blue, blue cat"])
SOUND = floats(2, 64)


def adapted_normalization() -> layers.Normalization:
    """A `Normalization` that has learnt its mean and variance."""
    layer = layers.Normalization()
    layer.adapt(floats(8, 4, seed=3))
    return layer


def adapted_discretization() -> layers.Discretization:
    """A `Discretization` that has learnt its bins."""
    layer = layers.Discretization(num_bins=4)
    layer.adapt(floats(32, 1, seed=3))
    return layer


CASES: Cases = {
    "CategoryEncoding": Case(lambda: layers.CategoryEncoding(6), (ids(2, 3),)),
    "CategoryEncoding, one hot": Case(lambda: layers.CategoryEncoding(6, output_mode="one_hot"), (ids(2, 1),)),
    "CategoryEncoding, weighted count": Case(
        lambda: layers.CategoryEncoding(6, output_mode="count"), (ids(2, 3),), {"count_weights": positives(2, 3)}
    ),
    "Discretization": Case(lambda: layers.Discretization(bin_boundaries=[-1.0, 0.0, 1.0]), (floats(2, 3),)),
    "Discretization, adapted": Case(adapted_discretization, (floats(2, 3),)),
    "Discretization, one hot": Case(
        lambda: layers.Discretization(bin_boundaries=[-1.0, 0.0, 1.0], output_mode="one_hot"), (floats(2, 1),)
    ),
    "HashedCrossing": Case(lambda: layers.HashedCrossing(5), ((ids(2), ids(2, seed=1)),)),
    "HashedCrossing, one hot": Case(
        lambda: layers.HashedCrossing(5, output_mode="one_hot"), ((ids(2, 1), ids(2, 1, seed=1)),)
    ),
    "HashedCrossing, strings": Case(
        lambda: layers.HashedCrossing(5), ((WORDS[:, 0], ids(2)),), backends=("tensorflow",), why=STRINGS
    ),
    "Hashing": Case(lambda: layers.Hashing(5), (ids(2, 3),)),
    "Hashing, salt": Case(lambda: layers.Hashing(5, salt=7, output_mode="multi_hot"), (ids(2, 3),)),
    "Hashing, strings": Case(
        lambda: layers.Hashing(5, mask_value="red"), (WORDS,), backends=("tensorflow",), why=STRINGS
    ),
    "IntegerLookup": Case(lambda: layers.IntegerLookup(vocabulary=[3, 1, 4]), (ids(2, 3),)),
    "IntegerLookup, inverted": Case(lambda: layers.IntegerLookup(vocabulary=[3, 1, 4], invert=True), (ids(2, 3),)),
    "IntegerLookup, multi hot": Case(
        lambda: layers.IntegerLookup(vocabulary=[3, 1, 4], output_mode="multi_hot", num_oov_indices=2), (ids(2, 3),)
    ),
    "MelSpectrogram": Case(
        lambda: layers.MelSpectrogram(fft_length=16, sequence_stride=8, num_mel_bins=4, min_freq=0.0), (SOUND,)
    ),
    "Normalization": Case(lambda: layers.Normalization(mean=0.5, variance=4.0), (floats(2, 4),)),
    "Normalization, adapted": Case(adapted_normalization, (floats(2, 4),)),
    "Normalization, inverted": Case(
        lambda: layers.Normalization(mean=[1.0, 2.0, 3.0], variance=[1.0, 4.0, 9.0], invert=True), (floats(2, 3),)
    ),
    "Pipeline": Case(lambda: layers.Pipeline([layers.Rescaling(0.5), layers.CenterCrop(4, 4)]), (floats(2, 6, 5, 3),)),
    "Rescaling": Case(lambda: layers.Rescaling(1 / 127.5, offset=-1.0), (floats(2, 4),)),
    "Rescaling, by channel": Case(lambda: layers.Rescaling([0.5, 1.0, 2.0], offset=[0.0, 1.0, 2.0]), (floats(2, 3),)),
    "STFTSpectrogram": Case(lambda: layers.STFTSpectrogram(frame_length=16, frame_step=8), (floats(2, 64, 1),)),
    "STFTSpectrogram, real": Case(
        lambda: layers.STFTSpectrogram(mode="real", frame_length=16, fft_length=32, padding="same", expand_dims=True),
        (floats(2, 64, 1),),
    ),
    "StringLookup": Case(
        lambda: layers.StringLookup(vocabulary=["red", "green"]), (WORDS,), backends=("tensorflow",), why=STRINGS
    ),
    "StringLookup, inverted": Case(
        lambda: layers.StringLookup(vocabulary=["red", "green"], invert=True),
        (ids(2, 3, below=3),),
        backends=("tensorflow",),
        why=STRINGS,
    ),
    "StringLookup, tf idf": Case(
        lambda: layers.StringLookup(vocabulary=["red", "green"], idf_weights=[0.5, 0.7], output_mode="tf_idf"),
        (WORDS,),
        backends=("tensorflow",),
        why=STRINGS,
    ),
    "TextVectorization": Case(
        lambda: layers.TextVectorization(vocabulary=["cat", "red"], output_sequence_length=4),
        (SENTENCES,),
        backends=("tensorflow",),
        why=STRINGS,
    ),
    "TextVectorization, bigrams": Case(
        lambda: layers.TextVectorization(vocabulary=["cat", "red cat"], ngrams=2, output_mode="multi_hot"),
        (SENTENCES,),
        backends=("tensorflow",),
        why=STRINGS,
    ),
}
