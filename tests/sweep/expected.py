"""Errors and warnings that a sound check raises on these layers, by (case, rule), each with the reason.

Most are faults of Keras 3.15.1 and keras-rs 0.4.0. An entry that no longer occurs fails its test, as does a finding
that has no entry.
"""

from __future__ import annotations

from collections.abc import Iterable

from sweep.case import BACKENDS
from sweep.keras_layers import CASES
from sweep.sweeping import Expectations, Expected


def each(
    cases: Iterable[str], rule: str, reason: str, backends: tuple[str, ...] = BACKENDS, *, always: bool = True
) -> Expectations:
    """The same expectation for several cases."""
    entry = Expected(reason, backends, always)
    return {(case, rule): entry for case in cases}


KERAS: Expectations = {
    # Saving.
    ("Lambda, of a lambda", "config-lambda"): Expected(
        "a lambda can't be loaded in safe mode: the case is there for it"
    ),
    ("RandomShear", "reload-differs"): Expected(
        "a number becomes the range (-0.2, 0.2) in the config, and the constructor refuses a negative end"
    ),
    # Declared shapes and dtypes.
    ("MultiHeadAttention, scores", "output-shape-mismatch"): Expected(
        "compute_output_spec gives the scores the query's length on both axes"
    ),
    ("Bidirectional, own backward layer", "output-shape-mismatch"): Expected(
        "compute_output_shape asks the forward layer only, and the backward one has other units"
    ),
    ("IntegerLookup, multi hot", "output-dtype-mismatch"): Expected(
        "declares floatx, and casts its output to int64, its compute dtype"
    ),
    ("StringLookup, inverted", "output-dtype-mismatch"): Expected(
        "declares int64 in the output mode int, and returns strings", ("tensorflow",)
    ),
    ("TextVectorization, bigrams", "output-dtype-mismatch"): Expected(
        "declares floatx for counts, which it returns in int64", ("tensorflow",)
    ),
    ("MaxNumBoundingBoxes", "output-dtype-mismatch"): Expected("declares its inputs' dtypes as float32, labels too"),
    ("JaxLayer", "call-not-traceable"): Expected(
        "describes its inputs to jax2tf by the first call's batch, and refuses an open one later", ("tensorflow",)
    ),
    # Dtype policies.
    **each(
        ("CategoryEncoding", "CategoryEncoding, one hot"),
        "policy-ignored",
        "encodes in the variable dtype, and declares the compute dtype",
    ),
    **each(
        ("HashedCrossing", "HashedCrossing, one hot"),
        "policy-ignored",
        "casts TensorFlow's output, which is in the compute dtype, to the variable dtype",
        ("torch",),
    ),
    ("Hashing, salt", "policy-ignored"): Expected("encodes in the variable dtype", ("tensorflow", "torch")),
    ("CenterCrop, of larger", "policy-ignored"): Expected(
        "resizes with tf.image.resize, which returns float32", ("tensorflow",)
    ),
    ("ReversibleEmbedding, reverse", "policy-ignored"): Expected(
        "has autocast off as every embedding, and casts only its kernel: float32 in, float32 out"
    ),
    ("RandomCrop", "policy-ignored"): Expected("casts to the compute dtype in training only"),
    ("MaxNumBoundingBoxes", "policy-ignored"): Expected(
        "hands images and boxes on as they are", ("tensorflow", "torch")
    ),
    ("RandomColorJitter", "child-dtype"): Expected("makes its four layers without a dtype"),
    **each(
        ("TextVectorization", "TextVectorization, bigrams"),
        "child-dtype",
        "its own policy is for its strings, and its lookup layer has the global one",
        ("tensorflow",),
    ),
    ("RNN, of two cells", "child-dtype"): Expected("makes StackedRNNCells around the caller's cells without a dtype"),
    ("CategoryEncoding, weighted count", "mixed-precision-constant"): Expected(
        "counts with tf.math.bincount, which takes no half-precision weights", ("tensorflow",)
    ),
    ("TorchModuleWrapper", "mixed-precision-constant"): Expected(
        "the parameters are the module's own, in float32, and Keras casts the inputs only", ("torch",)
    ),
    # Numbers.
    **each(
        ("Dot, normalized", "UnitNormalization", "UnitNormalization, axis 1"),
        "float16-underflow",
        "l2-normalizes with an epsilon of 1e-12, which is 0 in float16",
    ),
    **{
        (case, "float16-overflow"): Expected(
            "multiplies query and key in the compute dtype before anything is scaled", always=False
        )
        for case in CASES
        if "Attention" in case
    },
    ("STFTSpectrogram", "float16-overflow"): Expected(
        "squares sums of unscaled samples in the compute dtype", always=False
    ),
    ("MelSpectrogram", "nonfinite-gradient"): Expected(
        "takes the root of a power of zero in silence", ("jax", "torch"), always=False
    ),
    ("AutoContrast", "nonfinite-gradient"): Expected(
        "divides by the range of a flat image and selects afterwards: the gradient passes the division"
    ),
    # Tracing.
    **each(
        (
            case
            for case in CASES
            if case.startswith(("IntegerLookup", "StringLookup")) and "jax" in CASES[case].backends
        ),
        "numpy-in-call",
        "looks its values up with TensorFlow, on the host",
        ("jax",),
        always=False,
    ),
    **each(
        ("HashedCrossing", "HashedCrossing, one hot", "Hashing", "Hashing, salt"),
        "numpy-in-call",
        "hashes with TensorFlow, on the host",
        ("jax",),
        always=False,
    ),
    ("MaxNumBoundingBoxes", "numpy-in-call"): Expected("makes a Python number of how many boxes it pads", ("jax",)),
    ("RandomElasticTransform", "numpy-in-call"): Expected(
        "takes the size of its blur from sigma, which is a traced value", ("jax",)
    ),
    ("RandomCrop", "call-not-traceable"): Expected("slices between random ends, which JAX can't trace", ("jax",)),
    **each(
        ("CutMix", "MixUp"),
        "call-not-traceable",
        "shuffles the batch, which JAX can't trace with an open size",
        ("jax",),
        always=False,
    ),
    # State on purpose.
    ("SimpleRNN, stateful", "static-batch"): Expected(
        "keeps a state for each row, so that the batch's size must be known"
    ),
    ("LSTMCell, dropout", "tensor-leak"): Expected(
        "a cell keeps its dropout masks over the steps of a sequence; the RNN around it drops them",
        ("tensorflow", "torch"),
        always=False,
    ),
}

KERAS_RS: Expectations = {
    **each(
        ("BruteForceRetrieval", "BruteForceRetrieval, ids"),
        "config-object-not-deserialized",
        "get_config writes the method compute_score as `return_scores`",
    ),
    **each(
        ("FeatureCross", "FeatureCross, projection"),
        "child-unbuilt-after-build",
        "build() makes the dense layers and doesn't build them",
    ),
    ("DistributedEmbedding", "child-dtype"): Expected("makes an EmbedReduce for each table without a dtype"),
    ("DistributedEmbedding", "config-missing-arg"): Expected("leaves out `table_stacking` and `update_stats`"),
    ("EmbedReduce, weights", "nonfinite-gradient"): Expected("takes the root of weights of zero", ("jax", "torch")),
    **each(
        ("RemoveAccidentalHits", "RemoveAccidentalHits, shared candidates"),
        "policy-ignored",
        "multiplies by a NumPy float32 scalar",
        ("tensorflow", "jax"),
    ),
    ("EmbedReduce, weights", "policy-ignored"): Expected(
        "has autocast off as every embedding: float32 weights give a float32 output"
    ),
}
