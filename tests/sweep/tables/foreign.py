"""Layers that wrap code written in a framework of its own."""

from __future__ import annotations

import keras
from keras import layers

from sweep.case import Case, Cases, floats


@keras.saving.register_keras_serializable("layerwright_sweep")
def affine_init(rng, inputs):
    """The weights of the `JaxLayer` case."""
    import jax

    return {"w": 0.1 * jax.random.normal(rng, (inputs.shape[-1], 3)), "b": jax.numpy.zeros(3)}


@keras.saving.register_keras_serializable("layerwright_sweep")
def affine_call(params, inputs):
    """What the `JaxLayer` case computes."""
    return inputs @ params["w"] + params["b"]


def torch_module() -> layers.Layer:
    """A wrapped `torch.nn.Linear`; torch is imported only where the case runs."""
    import torch

    return layers.TorchModuleWrapper(torch.nn.Linear(4, 3))


CASES: Cases = {
    "JaxLayer": Case(
        lambda: layers.JaxLayer(affine_call, affine_init, seed=1),
        (floats(2, 4),),
        backends=("tensorflow", "jax"),
        why="JaxLayer runs where JAX code can be traced",
        since="3.13",
    ),
    "TorchModuleWrapper": Case(
        torch_module, (floats(2, 4),), backends=("torch",), why="a torch module takes torch tensors"
    ),
}
