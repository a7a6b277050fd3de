"""Classes as text for the tests of the static reading: what is said of each, faults first, then right look-alikes.

They are read, never run. Above each stand the imports in `HEAD`.
"""

from __future__ import annotations

HEAD = """\
import random
import numba
import numpy as np
import scipy.special
import keras
from keras import layers, ops
"""

# What is wrong, as a sentence: the rule that must be found, and the source.
WRONG: dict[str, tuple[str, str]] = {
    "an argument that is required is not in the config": (
        "config-missing-arg",
        """
class Gain(layers.Layer):
    def __init__(self, gain, **kwargs):
        super().__init__(**kwargs)
        self.factor = gain

    def call(self, x):
        return x * self.factor

    def get_config(self):
        config = super().get_config()
        config.update({})
        return config
""",
    ),
    "an argument is kept in a framework's variable": (
        "native-variable",
        """
import tensorflow as tf

class Scale(layers.Layer):
    def build(self, input_shape):
        self.scale = tf.Variable(tf.ones(input_shape[-1:]))

    def call(self, x):
        return x * self.scale
""",
    ),
    "a mask has the name of the tensor": (
        "mask-arg-never-filled",
        """
class Weighted(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x, x_mask=None):
        return x if x_mask is None else x * ops.cast(ops.expand_dims(x_mask, -1), x.dtype)
""",
    ),
    "a class method of a helper makes the weight in call": (
        "state-in-call",
        """
class Lazy(layers.Layer):
    def call(self, x):
        self._make(x)
        return x * self.w

    def _make(self, x):
        if not hasattr(self, "w"):
            self.w = self.add_weight(shape=(x.shape[-1],), name="w")
""",
    ),
    "a function of the file makes a layer of the file in call": (
        "state-in-call",
        """
class Inner(layers.Layer):
    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1],), name="w")

    def call(self, x):
        return x * self.w

def gated(x):
    return x * Inner()(x)

class Gate(layers.Layer):
    def call(self, x):
        return gated(x)
""",
    ),
    "add_weight takes a name that is put together": (
        "legacy-add-weight",
        """
class Many(layers.Layer):
    def build(self, input_shape):
        for k in range(3):
            setattr(self, f"w{k}", self.add_weight(f"w_{k}", shape=input_shape[-1:]))

    def call(self, x):
        return x * self.w0 * self.w1 * self.w2
""",
    ),
    "add_weight takes a partitioner": (
        "legacy-add-weight",
        """
class Parted(layers.Layer):
    def build(self, input_shape):
        self.w = self.add_weight(shape=input_shape[-1:], name="w", partitioner=None)

    def call(self, x):
        return x * self.w
""",
    ),
    "add_weight takes the shape twice": (
        "legacy-add-weight",
        """
class Twice(layers.Layer):
    def build(self, input_shape):
        name = "w"
        self.w = self.add_weight(name, shape=input_shape[-1:])

    def call(self, x):
        return x * self.w
""",
    ),
    "a tensor goes through a method and a local name into NumPy": (
        "numpy-in-call",
        """
class Clipped(layers.Layer):
    def call(self, inputs):
        y = ops.relu(inputs) + 1
        return self._clip(y)

    def _clip(self, value):
        import numpy
        return numpy.clip(value, 0, 1)
""",
    ),
    "a tensor is asked for its value": (
        "numpy-in-call",
        """
class Normal(layers.Layer):
    def call(self, x):
        return x / float(ops.max(x))
""",
    ),
    "scipy gets what convert_to_numpy gave": (
        "host-code-in-call",
        """
class Outside(layers.Layer):
    def call(self, x):
        values = ops.convert_to_numpy(x)
        return ops.convert_to_tensor(scipy.special.expit(values))
""",
    ),
    "a function compiled by numba gets a tensor": (
        "host-code-in-call",
        """
@numba.njit
def square(a):
    return a * a

class Fast(layers.Layer):
    def call(self, x):
        return square(x)
""",
    ),
    "a while loop asks a tensor": (
        "python-branch-on-tensor",
        """
class Until(layers.Layer):
    def call(self, x):
        total = ops.sum(x, axis=-1)
        while total > 1:
            total = total / 2
        return total
""",
    ),
    "a helper decides on the value of a weight": (
        "python-branch-on-tensor",
        """
class Switch(layers.Layer):
    def build(self, input_shape):
        self.level = self.add_weight(shape=(), name="level")

    def call(self, x):
        return self._choose(x)

    def _choose(self, x):
        return x if self.level > 0 else -x
""",
    ),
    "the size of the batch has a name": (
        "static-batch",
        """
class Flat(layers.Layer):
    def call(self, x):
        batch = x.shape[0]
        return ops.reshape(x, (batch, -1))
""",
    ),
    "a seed is a constant of the file": (
        "constant-seed",
        """
SEED = 1337

class Jitter(layers.Layer):
    def call(self, x, training=False):
        return x + keras.random.normal(ops.shape(x), seed=SEED) if training else x
""",
    ),
    "numbers come from a generator that the layer holds": (
        "host-random-in-call",
        """
class Jitter(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.rng = np.random.default_rng(3)

    def call(self, x):
        return x + self.rng.normal()
""",
    ),
    "a loss is added by a helper of build": (
        "add-loss-outside-call",
        """
class Penal(layers.Layer):
    def build(self, input_shape):
        self.w = self.add_weight(shape=input_shape[-1:], name="w")
        self._penalize()

    def _penalize(self):
        self.add_loss(ops.sum(self.w))

    def call(self, x):
        return x * self.w
""",
    ),
    "Lambda layers in a loop share its variable": (
        "late-binding-closure",
        """
class Columns(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.picks = []
        for k in range(3):
            self.picks.append(layers.Lambda(lambda t: t[:, k : k + 1]))

    def call(self, x):
        return ops.concatenate([pick(x) for pick in self.picks], axis=-1)
""",
    ),
    "a logarithm is guarded with too little": (
        "float16-underflow",
        """
class Entropy(layers.Layer):
    def call(self, p):
        return -ops.sum(p * ops.log(ops.maximum(p, 1e-12)), axis=-1)
""",
    ),
    "a layer is put into a list by its index": (
        "untracked-layer",
        """
class Stack(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.blocks = [None, None]
        for k in range(2):
            self.blocks[k] = layers.Dense(4, dtype=self.dtype_policy)

    def call(self, x):
        return self.blocks[1](self.blocks[0](x))
""",
    ),
    "build gets no shape": (
        "build-signature",
        """
class Scale(layers.Layer):
    def build(self):
        self.w = self.add_weight(shape=(), name="w")

    def call(self, x):
        return x * self.w
""",
    ),
    "a constructor is called __int__": (
        "misspelt-method",
        """
class Scale(layers.Layer):
    def __int__(self, by=2.0, **kwargs):
        super().__init__(**kwargs)

    def call(self, x):
        return x * 2.0
""",
    ),
    "PyTorch's forward stands for call": (
        "misspelt-method",
        """
class Scale(layers.Layer):
    def forward(self, x):
        return x * 2.0
""",
    ),
    "a layer is assigned before super().__init__()": (
        "attribute-before-super",
        """
class Late(layers.Layer):
    def __init__(self, **kwargs):
        self.act = layers.ReLU()
        super().__init__(**kwargs)

    def call(self, x):
        return self.act(x)
""",
    ),
    "config keys are set one by one": (
        "config-no-super",
        """
class Shift(layers.Layer):
    def __init__(self, by=1.0, **kwargs):
        super().__init__(**kwargs)
        self.by = by

    def call(self, x):
        return x + self.by

    def get_config(self):
        config = {}
        config["by"] = self.by
        return config
""",
    ),
    "a root is taken of a product of equal factors": (
        "nonfinite-gradient",
        """
class Length(layers.Layer):
    def call(self, x):
        return ops.sqrt(ops.sum(x * x, axis=-1))
""",
    ),
}

# What is right although it looks like a fault, as a sentence: the source.
RIGHT: dict[str, str] = {
    "NumPy computes with shapes and constants": """
class Scaled(layers.Layer):
    def call(self, x):
        size = np.prod(x.shape[1:])
        return x / np.sqrt(size) * np.float32(2.0) + np.pi
""",
    "NumPy is used where the input is an array": """
class Either(layers.Layer):
    def call(self, x):
        if isinstance(x, np.ndarray):
            return np.tanh(x)
        return ops.tanh(x)
""",
    "NumPy is used in another method": """
class Adapted(layers.Layer):
    def build(self, input_shape):
        self.mean = self.add_weight(shape=input_shape[-1:], trainable=False, name="mean")

    def adapt(self, data):
        self.mean.assign(np.mean(data, axis=0))

    def call(self, x):
        return x - self.mean
""",
    "a nested function runs on the host": """
import tensorflow as tf

class Labels(layers.Layer):
    def call(self, x):
        return ops.relu(x)

    def decode(self, path):
        return tf.numpy_function(lambda p: np.load(p), [path], tf.float32)
""",
    "branches ask about None, modes, sizes, types and options": """
class Careful(layers.Layer):
    def __init__(self, rate=0.5, **kwargs):
        super().__init__(**kwargs)
        self.rate = rate

    def call(self, x, mask=None, training=False):
        if training and self.rate > 0:
            x = x * (1 - self.rate)
        if mask is not None:
            x = x * ops.cast(ops.expand_dims(mask, -1), x.dtype)
        if x.shape[-1] > 3 and len(x.shape) == 2:
            x = x + 1
        while x.shape.__len__() < 2:
            x = ops.expand_dims(x, 0)
        return x if isinstance(x, (list, tuple)) else x * 2

    def get_config(self):
        return {**super().get_config(), "rate": self.rate}
""",
    "a name is a tensor in one place and a number in another": """
class Mixed(layers.Layer):
    def call(self, x):
        level = 0.0
        if self.trainable:
            level = ops.mean(x)
        return x if level else -x
""",
    "TensorFlow rewrites the branch": """
import tensorflow as tf

class Graph(layers.Layer):
    @tf.function
    def call(self, x):
        if tf.reduce_mean(x) > 0:
            return x
        return -x
""",
    "a shape is put together of sizes": """
import tensorflow as tf

class Joined(layers.Layer):
    def call(self, x):
        return tf.reshape(x, tf.concat([tf.shape(x)[:1], [-1]], axis=0))
""",
    "training is passed on, or True only while training": """
class Noisy(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.drop = layers.Dropout(0.5, dtype=self.dtype_policy)

    def call(self, x, training=None):
        if training:
            return self.drop(x, training=True)
        return self.drop(x, training=training)
""",
    "a layer samples on purpose": """
class MCDropout(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.drop = layers.Dropout(0.5, dtype=self.dtype_policy)

    def call(self, x):
        return self.drop(x, training=True)
""",
    "a caller fills the flag by hand": """
class Inner(layers.Layer):
    def call(self, x, is_training=False):
        return x * 2 if is_training else x

class Outer(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.inner = Inner(dtype=self.dtype_policy)

    def call(self, x, training=False):
        return self.inner(x, is_training=training)
""",
    "a config is put together in several steps": """
class Base(layers.Layer):
    def __init__(self, gain, **kwargs):
        super().__init__(**kwargs)
        self.gain = gain

    def get_config(self):
        config = dict(super().get_config())
        config.update(gain=self.gain)
        return config

class Slope(Base):
    def __init__(self, slope=0.1, **kwargs):
        super().__init__(**kwargs)
        self.slope = slope

    def call(self, x):
        return ops.where(x > 0, self.gain * x, self.slope * x)

    def get_config(self):
        config = super().get_config()
        if self.slope is not None:
            config["slope"] = self.slope
        return config
""",
    "a config is made in a way that can't be followed": """
class Free(layers.Layer):
    def __init__(self, gain=1.0, **kwargs):
        super().__init__(**kwargs)
        self.gain = gain

    def call(self, x):
        return x * self.gain

    def get_config(self):
        return {name: getattr(self, name) for name in ("gain", "name", "trainable")}
""",
    "an inner layer is turned back by from_config": """
class Residual(layers.Layer):
    def __init__(self, inner, **kwargs):
        super().__init__(**kwargs)
        self.inner = inner

    def call(self, x):
        return x + self.inner(x)

    def get_config(self):
        return {**super().get_config(), "inner": keras.saving.serialize_keras_object(self.inner)}

    @classmethod
    def from_config(cls, config):
        config["inner"] = keras.saving.deserialize_keras_object(config["inner"])
        return cls(**config)
""",
    "a constructor takes the base's arguments by name": """
class Named(layers.Layer):
    def __init__(self, units, name=None, dtype=None, trainable=True):
        super().__init__(name=name, dtype=dtype, trainable=trainable)
        self.units = units

    def call(self, x):
        return x * self.units

    def get_config(self):
        return {**super().get_config(), "units": self.units}
""",
    "a functional model is made in its constructor": """
class Tower(keras.Model):
    def __init__(self, units=4, **kwargs):
        inputs = keras.Input((3,))
        super().__init__(inputs=inputs, outputs=layers.Dense(units)(inputs), **kwargs)
        self.units = units

    def get_config(self):
        return {"units": self.units, "name": self.name, "trainable": self.trainable}
""",
    "an abstract layer leaves call to others": """
class Op(layers.Layer):
    def call(self, x):
        \"\"\"To be written.\"\"\"
        raise NotImplementedError

class Later(layers.Layer):
    def call(self, x):
        pass
""",
    "children are built in the constructor": """
class Early(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = layers.Dense(3, dtype=self.dtype_policy)
        self.dense.build((None, 4))

    def build(self, input_shape):
        self.w = self.add_weight(shape=(), name="w")

    def call(self, x):
        return self.dense(x) * self.w
""",
    "children are built in a loop": """
class Stack(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.first = layers.Dense(3, dtype=self.dtype_policy)
        self.parts = [self.first]

    def build(self, input_shape):
        for part in self.parts:
            part.build(input_shape)

    def call(self, x):
        return self.first(x)
""",
    "build takes the shapes of the arguments of call": """
class Attend(layers.Layer):
    def build(self, query_shape, value_shape, key_shape=None):
        self.w = self.add_weight(shape=(query_shape[-1], value_shape[-1]), name="w")

    def call(self, query, value, key=None, training=None, mask=None):
        return ops.matmul(query, self.w)
""",
    "a number is small in float32": """
class Unit(layers.Layer):
    def call(self, x):
        wide = ops.cast(x, "float32")
        return ops.cast(wide / ops.sqrt(ops.mean(ops.square(wide), axis=-1, keepdims=True) + 1e-12), x.dtype)
""",
    "a small number is no guard": """
class Nudge(layers.Layer):
    def call(self, x):
        return x + 1e-12
""",
    "lambdas bind the variable of the loop, or are called at once": """
class Columns(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.picks = [lambda t, k=k: t[:, k : k + 1] for k in range(3)]
        self.order = [sorted(range(3), key=lambda n: n * k) for k in range(2)]

    def call(self, x):
        return ops.concatenate([pick(x) for pick in self.picks], axis=-1)
""",
    "a tensor is kept for the rest of the call only": """
class Kept(layers.Layer):
    def call(self, x):
        self._mask = ops.cast(x > 0, x.dtype)
        y = x * self._mask
        self._mask = None
        return y
""",
    "a list is emptied at the start of each call": """
class Features(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seen = []

    def call(self, x):
        self.seen = []
        self.seen.append(x)
        return x
""",
    "random numbers have a seed generator, or are drawn at construction for a constant": """
class Jitter(layers.Layer):
    def __init__(self, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.start = random.random()

    def call(self, x, training=False):
        return x + keras.random.normal(ops.shape(x), seed=self.seed_generator) if training else x

    def get_config(self):
        return {**super().get_config(), "seed": self.seed}
""",
    "random means keras.random": """
from keras import random

class Jitter(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = random.SeedGenerator(1)

    def call(self, x):
        return x + random.normal(ops.shape(x), seed=self.seed_generator)
""",
    "a batch is taken apart with care": """
class Trained(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = layers.Dense(1)

    def call(self, x, training=None):
        return self.dense(x)

    def test_step(self, data):
        if len(data) == 3:
            x, y, w = data
        else:
            x, y = data
            w = None
        return {"loss": self.compute_loss(x=x, y=y, y_pred=self(x), sample_weight=w)}
""",
    "a helper object of another file is unknown": """
from parts import Parts

class Block(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.parts = Parts()

    def call(self, x):
        return self.parts.proj(x)
""",
    "a base class of another file is unknown": """
from mine import BaseLayer

class Child(BaseLayer):
    def __init__(self):
        super().__init__()
        self.w = self.add_weight(shape=(3,), name="w")

    def call(self, x):
        return x * self.w
""",
    "a weight is read by its name": """
class Table(layers.Layer):
    def build(self, input_shape):
        self.row_a = self.add_weight(shape=input_shape[-1:], name="a")
        self.row_b = self.add_weight(shape=input_shape[-1:], name="b")

    def call(self, x):
        return x * sum(getattr(self, "row_" + letter) for letter in "ab")
""",
    "a straight-through estimator rounds": """
class Levels(layers.Layer):
    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], 4), name="w")

    def call(self, x):
        y = ops.matmul(x, self.w)
        return y + ops.stop_gradient(ops.round(y) - y)
""",
    "a mean over the batch goes into a loss": """
class Watched(layers.Layer):
    def call(self, x):
        self.add_loss(ops.mean(x))
        return x - ops.mean(x, axis=-1, keepdims=True)
""",
}
