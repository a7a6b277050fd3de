"""Subjects for every public layer of `keras_rs.layers`, and the classes that can't be one."""

from __future__ import annotations

import numpy as np
from keras_rs import layers

from sweep.case import Case, Cases, floats, ids, positives

LOGITS = floats(3, 4)
LABELS = np.eye(4, dtype="float32")[[1, 0, 3]]
CANDIDATES = floats(6, 4, seed=3)


def distributed_embedding() -> layers.DistributedEmbedding:
    """A `DistributedEmbedding` of two features that share a table."""
    table = layers.TableConfig("words", vocabulary_size=6, embedding_dim=3, placement="default_device")
    title = layers.FeatureConfig("title", table, input_shape=(2, 5), output_shape=(2, 3))
    topic = layers.FeatureConfig("topic", table, input_shape=(2, 1), output_shape=(2, 3))
    return layers.DistributedEmbedding({"title": title, "topic": topic})


CASES: Cases = {
    "BruteForceRetrieval": Case(lambda: layers.BruteForceRetrieval(CANDIDATES, k=2), (floats(2, 4),)),
    "BruteForceRetrieval, ids": Case(
        lambda: layers.BruteForceRetrieval(CANDIDATES, ids(6, below=100), k=2, return_scores=False), (floats(2, 4),)
    ),
    "DistributedEmbedding": Case(distributed_embedding, ({"title": ids(2, 5), "topic": ids(2, 1)},)),
    "DotInteraction": Case(lambda: layers.DotInteraction(), ([floats(2, 4), floats(2, 4, seed=1)],)),
    "DotInteraction, of three": Case(
        lambda: layers.DotInteraction(self_interaction=True, skip_gather=True),
        ([floats(2, 4), floats(2, 4, seed=1), floats(2, 4, seed=2)],),
    ),
    "EmbedReduce": Case(lambda: layers.EmbedReduce(6, 3), (ids(2, 5),)),
    "EmbedReduce, weights": Case(lambda: layers.EmbedReduce(6, 3, combiner="sqrtn"), (ids(2, 5), positives(2, 5))),
    "FeatureCross": Case(lambda: layers.FeatureCross(), (floats(2, 4), floats(2, 4, seed=1))),
    "FeatureCross, projection": Case(
        lambda: layers.FeatureCross(projection_dim=2, pre_activation="relu"), (floats(2, 4), floats(2, 4, seed=1))
    ),
    "HardNegativeMining": Case(lambda: layers.HardNegativeMining(2), (LOGITS, LABELS)),
    "RemoveAccidentalHits": Case(
        lambda: layers.RemoveAccidentalHits(), (LOGITS, LABELS, ids(3, 4, below=3)), batched=True
    ),
    "RemoveAccidentalHits, shared candidates": Case(
        lambda: layers.RemoveAccidentalHits(), (LOGITS, LABELS, ids(4, below=3)), batched=False
    ),
    "SamplingProbabilityCorrection": Case(
        lambda: layers.SamplingProbabilityCorrection(), (LOGITS, positives(3, 4) / 1.2)
    ),
}

EXCLUDED = {
    "Retrieval": "abstract: call() and update_candidates() are for subclasses to write",
}
