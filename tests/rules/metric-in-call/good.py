"""Keeps `metric-in-call`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Watched(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = layers.Dense(4, dtype=self.dtype_policy, trainable=self.trainable)
        self.mean_output = keras.metrics.Mean(name="mean_output")

    def build(self, input_shape):
        self.dense.build(input_shape)

    def call(self, x):
        return self.dense(x)

    def compute_output_shape(self, input_shape):
        return self.dense.compute_output_shape(input_shape)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        self.mean_output.update_state(ops.mean(ops.cast(y_pred, "float32")))
        return super().compute_metrics(x, y, y_pred, sample_weight)


def make():
    return Watched()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
