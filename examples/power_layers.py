"""Three layers of one weight each, whose formula is a plain function that Numba compiles: trained by `fit`.

The function runs as a native operation of whichever framework Keras runs on. The gradient is given by hand; that of
the weight, which is shared by the whole batch, is summed over the batch.

    KERAS_BACKEND=jax python examples/power_layers.py
"""

import keras
import numpy as np

import layerwright as lw


@lw.kernel
def power(p, x):
    """The weight p times the square of the input x."""
    return p * x**2


@power.backward
def power_backward(p, x, y, dy):
    """The gradients for p and for x, of one element."""
    return dy * x**2, dy * 2.0 * p * x


@keras.saving.register_keras_serializable(package="layerwright_examples")
class Power(keras.layers.Layer):
    """Computes `p * x**2`.

    Call arguments: x, floating, of any shape. Returns a tensor of the same shape and dtype.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        self.p = self.add_weight(shape=(), initializer="ones", name="p")

    def call(self, x):
        return power(self.p, x)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


def make_model(layers: int = 3) -> keras.Model:
    """A model of some such layers, one after the other, for numbers."""
    return keras.Sequential([keras.Input((1,)), *(Power() for _ in range(layers))])


def train(epochs: int = 30) -> tuple[keras.Model, list[float]]:
    """Fit the model to targets that it can reach; the model, and the loss after every epoch."""
    x = np.random.default_rng(0).uniform(0.5, 1.2, (256, 1)).astype("float32")
    wanted = make_model()
    for layer, value in zip(wanted.layers, (1.1, 0.9, 1.2), strict=True):
        layer.p.assign(value)
    model = make_model()
    model.compile(keras.optimizers.Adam(0.01), "mse")
    history = model.fit(x, wanted.predict(x, verbose=0), batch_size=32, epochs=epochs, verbose=0)
    return model, history.history["loss"]


if __name__ == "__main__":
    trained, losses = train()
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.6f} on {keras.backend.backend()}")
    print("weights", [round(float(layer.p.numpy()), 3) for layer in trained.layers])
