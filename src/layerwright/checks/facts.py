"""What is known of Keras' interface, for the rules that probe a layer and for those that only read its source.

Imports neither Keras nor a framework.
"""

from __future__ import annotations

import difflib
import re

# ----------------------------------------------------------------------------------- methods that Keras calls
LAYER_METHODS = (
    *("__init__", "build", "call", "get_config", "from_config", "compute_output_shape", "compute_output_spec"),
    *("compute_mask", "get_build_config", "build_from_config", "save_own_variables", "load_own_variables", "quantize"),
)
MODEL_METHODS = (
    *("train_step", "test_step", "predict_step", "compute_loss", "compute_metrics"),
    *("compile_from_config", "get_compile_config"),
)
CELL_METHODS = ("get_initial_state",)
# What other frameworks and earlier versions call them.
METHODS_ELSEWHERE = {
    "forward": "call",
    "get_output_shape_for": "compute_output_shape",
    "get_output_shape": "compute_output_shape",
    "compute_output_signature": "compute_output_spec",
    "training_step": "train_step",
    "validation_step": "test_step",
    "prediction_step": "predict_step",
}
OTHER_WORDS = ("set_config", "load_config", "get_context", "all", "calls", "calc")


def meant_method(name: str, known: tuple[str, ...]) -> str | None:
    """The method of Keras' that a name stands for by mistake, as far as the spelling goes."""
    if name in known or name in OTHER_WORDS:
        return None
    if name.startswith("__") and name.endswith("__") and name != "__int__":
        return None
    meant = METHODS_ELSEWHERE.get(name) or next((k for k in known if _near(name, k)), None)
    return meant if meant in known else None


def _near(name: str, known: str) -> bool:
    bare, right = name.lower().replace("_", ""), known.lower().replace("_", "")
    if bare == right:
        return True
    return distance(bare, right) <= (1 if len(right) < 8 else 2)


def distance(one: str, other: str) -> int:
    """How many letters are wrong, missing, too many, or swapped with a neighbour."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            cost = min(rows[-1][j] + 1, row[j - 1] + 1, rows[-1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, rows[-2][j - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]


# ------------------------------------------------------------------------------------------ names and arguments
BASE_ARGUMENTS = ("name", "dtype", "trainable")
# The order in which Keras 2 took them.
OLD_ADD_WEIGHT = ("name", "shape", "dtype", "initializer")
DROPPED_BY_ADD_WEIGHT = (
    *("synchronization", "experimental_autocast", "collections", "partitioner", "use_resource"),
    *("getter", "caching_device"),
)
TRAINING_NAMES = frozenset({
    "is_training", "is_train", "istraining", "train", "in_training", "train_mode", "training_mode", "training_phase",
    "training_flag", "train_flag", "do_train", "learning_phase", "phase_train", "is_training_mode", "trainning",
    "traning",
})  # fmt: skip
# A class whose name says that it samples on purpose may keep its dropout on.
SAMPLERS = re.compile(r"(?:^|_)MC(?=[A-Z_]|$)|monte_?carlo|bayes", re.IGNORECASE | re.ASCII)


def means_training(name: str) -> bool:
    """Whether an argument is meant as the training flag, and isn't called `training`."""
    plain = name.lower()
    if plain in ("trainable", "training"):
        return False
    return plain in TRAINING_NAMES or difflib.SequenceMatcher(None, plain, "training").ratio() > 0.85


# --------------------------------------------------------------------------------------------------- attributes
# Properties of a layer that can't be set.
READ_ONLY = frozenset({
    "compute_dtype", "dtype", "input", "input_dtype", "losses", "metrics", "metrics_variables",
    "non_trainable_variables", "non_trainable_weights", "output", "path", "quantization_mode",
    "trainable_variables", "trainable_weights",
    "variable_dtype", "variables", "weights",
})  # fmt: skip
READ_ONLY_OF_MODELS = frozenset({"metrics_names", "layers"})
# Private attributes in which Keras keeps its own account.
KEPT_FOR = {
    "_layers": "the sublayers that it tracks",
    "_losses": "the losses that `add_loss` adds",
    "_metrics": "the metrics that it tracks",
    "_trainable_variables": "the trainable weights",
    "_non_trainable_variables": "the other weights",
    "_seed_generators": "the seed generators that it tracks",
    "_tracker": "its record of sublayers and weights",
    "_path": "the path in variables' names",
    "_trainable": "the value of `trainable`",
    "_dtype_policy": "the dtype policy",
}
# What `Layer.__init__` sets, whatever was there before.
RESET_BY_INIT = frozenset({
    "supports_masking", "trainable", "autocast", "input_spec", "built", "supports_jit", "activity_regularizer",
    "name",
})  # fmt: skip
# What Keras 3 has no longer in a custom training step, with what to write instead.
GONE_FROM_TRAINING = {
    "compiled_loss": "`self.compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight)`",
    "compiled_metrics": "`return self.compute_metrics(x, y, y_pred, sample_weight)`",
    "minimize": "`self.optimizer.apply(gradients, self.trainable_variables)`",
    "get_gradients": "the gradients of the framework",
}
# What a shape was in Keras 2, with what to write instead.
INSTEAD_OF_SHAPE = {
    "as_list": "`list(shape)`",
    "ndims": "`len(shape)`",
    "rank": "`len(shape)`",
    "ndim": "`len(shape)`",
    "dims": "the shape itself",
    "value": "the size itself, it is a plain number",
    "num_elements": "`math.prod(shape)`",
    "dtype": "`self.compute_dtype` or `self.variable_dtype`: a shape has no dtype",
    "shape": "the argument itself: it is the shape",
    "is_fully_defined": "`None not in shape`",
}

# ------------------------------------------------------------------------------------------------ Keras' layers
DROPOUTS = frozenset({
    "Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "AlphaDropout", "GaussianDropout",
    "GaussianNoise",
})  # fmt: skip
# Layers that do something else in training; `LayerNormalization` and the like don't.
ACT_IN_TRAINING = DROPOUTS | {"BatchNormalization"}
WITH_WEIGHTS = frozenset({
    "Dense", "EinsumDense", "Embedding", "BatchNormalization", "LayerNormalization", "GroupNormalization",
    "RMSNormalization", "PReLU", "Conv1D", "Conv2D", "Conv3D", "Conv1DTranspose", "Conv2DTranspose",
    "Conv3DTranspose", "DepthwiseConv1D",
    "DepthwiseConv2D", "SeparableConv1D", "SeparableConv2D", "LSTM", "GRU", "SimpleRNN", "LSTMCell",
    "GRUCell", "SimpleRNNCell", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D", "Bidirectional", "RNN",
    "MultiHeadAttention", "GroupQueryAttention",
    "AdditiveAttention", "Attention",
})  # fmt: skip
# The smallest float16 is 2**-24; what is below half of it becomes zero.
ZERO_IN_FLOAT16 = 2.0**-25
