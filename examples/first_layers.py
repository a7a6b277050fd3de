"""Seven layers and models of the kind one writes in the first week with Keras.

Each of them gives an answer when it is called on an array. Four hold a fault that shows only later: in a compiled step,
after loading, or never, as a model that is quietly worse than it should be. Find them before you train:

    layerwright check examples/first_layers.py
"""

import keras
import numpy as np
from keras import layers, ops


# 1. A dense layer whose output is gated by the input.
@keras.saving.register_keras_serializable("first_layers")
class GatedDense(layers.Layer):
    """`activation(x W) * sigmoid(x G)`."""

    def __init__(self, units, activation="swish", **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.activation = keras.activations.get(activation)
        self.supports_masking = True

    def build(self, input_shape):
        shape = (input_shape[-1], self.units)
        self.kernel = self.add_weight(shape=shape, initializer="glorot_uniform", name="kernel")
        self.gate = self.add_weight(shape=shape, initializer="glorot_uniform", name="gate")

    def call(self, inputs):
        return self.activation(ops.matmul(inputs, self.kernel)) * ops.sigmoid(ops.matmul(inputs, self.gate))

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.units)

    def get_config(self):
        # So that the layer can be saved: what `__init__` needs.
        return {**super().get_config(), "units": self.units}


# 2. Scale every vector to the same length, as in the papers on language models.
@keras.saving.register_keras_serializable("first_layers")
class RootMeanSquareNorm(layers.Layer):
    """`x / sqrt(mean(x**2) + epsilon) * scale`, over the last axis."""

    def __init__(self, epsilon=1e-6, **kwargs):
        super().__init__(**kwargs)
        self.epsilon = epsilon
        self.supports_masking = True

    def build(self, input_shape):
        self.scale = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="scale")

    def call(self, inputs):
        # In float32 whatever the policy: squares leave the range of float16 early, and so does epsilon.
        wide = ops.cast(inputs, "float32")
        mean_square = ops.mean(ops.square(wide), axis=-1, keepdims=True)
        normed = wide * ops.rsqrt(mean_square + self.epsilon)
        return ops.cast(normed, self.compute_dtype) * self.scale

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        return {**super().get_config(), "epsilon": self.epsilon}


# 3. Blocks with a shortcut around each, as many as you like.
@keras.saving.register_keras_serializable("first_layers")
class ResidualStack(layers.Layer):
    """`x + dense(x)`, `depth` times."""

    def __init__(self, depth=3, **kwargs):
        super().__init__(**kwargs)
        self.depth = depth
        self.supports_masking = True
        # One place for each block; they are filled in below, once the width is known.
        self.blocks = [None] * depth

    def build(self, input_shape):
        for k in range(self.depth):
            self.blocks[k] = layers.Dense(input_shape[-1], activation="relu", dtype=self.dtype_policy)
            self.blocks[k].build(input_shape)

    def call(self, inputs):
        x = inputs
        for block in self.blocks:
            x = x + block(x)
        return x

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        return {**super().get_config(), "depth": self.depth}


# 4. Large counts are easier to learn from on a logarithmic scale.
@keras.saving.register_keras_serializable("first_layers")
class LogScale(layers.Layer):
    """`sign(x) * log(1 + |x|)`."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs):
        return np.sign(inputs) * np.log1p(np.abs(inputs))

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


# 5. A sequence of any length becomes one vector; padded steps don't count.
@keras.saving.register_keras_serializable("first_layers")
class MaskedMean(layers.Layer):
    """The mean over the steps that the mask keeps: from `(batch, time, channels)` to `(batch, channels)`."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.input_spec = layers.InputSpec(ndim=3)
        self.supports_masking = True

    def call(self, inputs, mask=None):
        if mask is None:
            return ops.mean(inputs, axis=1)
        kept = ops.expand_dims(ops.cast(mask, inputs.dtype), axis=-1)
        # A row that is padding and nothing else has a mean of zero, not of 0 / 0.
        return ops.sum(inputs * kept, axis=1) / ops.maximum(ops.sum(kept, axis=1), 1)

    def compute_mask(self, inputs, mask=None):
        return None  # the time axis is gone, and the mask with it

    def compute_output_shape(self, input_shape):
        return (input_shape[0], input_shape[2])


# 6. Two dense layers, and dropout between them against overfitting.
@keras.saving.register_keras_serializable("first_layers")
class RegularizedHead(layers.Layer):
    """`dense(dropout(dense(x)))`."""

    def __init__(self, units, rate=0.3, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.rate = rate
        self.supports_masking = True
        self.hidden = layers.Dense(units, activation="relu", dtype=self.dtype_policy)
        self.dropout = layers.Dropout(rate, dtype=self.dtype_policy)
        self.out = layers.Dense(units, dtype=self.dtype_policy)

    def build(self, input_shape):
        self.hidden.build(input_shape)
        self.out.build((*input_shape[:-1], self.units))

    def call(self, inputs):
        x = self.hidden(inputs)
        x = self.dropout(x, training=True)  # without this, dropout did nothing when I tried the layer out
        return self.out(x)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.units)

    def get_config(self):
        return {**super().get_config(), "units": self.units, "rate": self.rate}


# 7. A whole model, written as a class.
@keras.saving.register_keras_serializable("first_layers")
class SmallClassifier(keras.Model):
    """One hidden layer and a score for each class."""

    def __init__(self, hidden_units=16, num_classes=3, rate=0.1, **kwargs):
        super().__init__(**kwargs)
        self.hidden_units = hidden_units
        self.num_classes = num_classes
        self.rate = rate
        self.hidden = layers.Dense(hidden_units, activation="relu", dtype=self.dtype_policy)
        self.dropout = layers.Dropout(rate, dtype=self.dtype_policy)
        self.scores = layers.Dense(num_classes, dtype=self.dtype_policy)

    def build(self, input_shape):
        self.hidden.build(input_shape)
        self.scores.build((*input_shape[:-1], self.hidden_units))
        self.built = True

    def call(self, inputs, training=None):
        return self.scores(self.dropout(self.hidden(inputs), training=training))

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.num_classes)

    def get_config(self):
        return {
            **super().get_config(),
            "hidden_units": self.hidden_units,
            "num_classes": self.num_classes,
            "rate": self.rate,
        }
