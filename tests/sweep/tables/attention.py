"""Attention layers."""

from __future__ import annotations

import numpy as np
from keras import layers

from sweep.case import Case, Cases, floats, mask

QUERY, VALUE = floats(2, 4, 3), floats(2, 5, 3, seed=1)
CAUSAL = np.tril(np.ones((1, 4, 5), dtype="bool"))

CASES: Cases = {
    "Attention": Case(lambda: layers.Attention(), ([QUERY, VALUE],)),
    "Attention, scale": Case(lambda: layers.Attention(use_scale=True), ([QUERY, VALUE],)),
    "Attention, concat": Case(lambda: layers.Attention(score_mode="concat", use_scale=True), ([QUERY, VALUE, VALUE],)),
    "Attention, dropout": Case(lambda: layers.Attention(dropout=0.5, seed=1), ([QUERY, VALUE],)),
    "Attention, scores": Case(lambda: layers.Attention(), ([QUERY, VALUE],), {"return_attention_scores": True}),
    "Attention, mask": Case(
        lambda: layers.Attention(), ([QUERY, VALUE],), {"mask": [mask(2, 4), mask(2, 5)], "use_causal_mask": True}
    ),
    "AdditiveAttention": Case(lambda: layers.AdditiveAttention(), ([QUERY, VALUE],)),
    "AdditiveAttention, no scale": Case(lambda: layers.AdditiveAttention(use_scale=False), ([QUERY, VALUE],)),
    "MultiHeadAttention": Case(lambda: layers.MultiHeadAttention(2, 3), (QUERY, VALUE)),
    "MultiHeadAttention, key": Case(
        lambda: layers.MultiHeadAttention(2, 3, value_dim=4, output_shape=5, dropout=0.5), (QUERY, VALUE, VALUE)
    ),
    "MultiHeadAttention, scores": Case(
        lambda: layers.MultiHeadAttention(2, 3), (QUERY, VALUE), {"return_attention_scores": True}
    ),
    "MultiHeadAttention, causal": Case(
        lambda: layers.MultiHeadAttention(2, 3, use_bias=False), (QUERY, QUERY), {"use_causal_mask": True}
    ),
    "MultiHeadAttention, masks": Case(
        lambda: layers.MultiHeadAttention(2, 3),
        (QUERY, VALUE),
        {"query_mask": mask(2, 4), "value_mask": mask(2, 5), "attention_mask": np.repeat(CAUSAL, 2, axis=0)},
    ),
    "MultiHeadAttention, two axes": Case(
        lambda: layers.MultiHeadAttention(2, 3, attention_axes=(1, 2)), (floats(2, 2, 4, 3), floats(2, 2, 5, 3))
    ),
    "MultiHeadAttention, gate": Case(
        lambda: layers.MultiHeadAttention(2, 3, use_gate=True, sliding_window=2), (QUERY, QUERY), since="3.15"
    ),
    "GroupQueryAttention": Case(lambda: layers.GroupQueryAttention(3, 4, 2), (QUERY, VALUE)),
    "GroupQueryAttention, causal": Case(
        lambda: layers.GroupQueryAttention(3, 4, 2, dropout=0.5, use_bias=False),
        (QUERY, QUERY),
        {"use_causal_mask": True},
    ),
    "GroupQueryAttention, scores": Case(
        lambda: layers.GroupQueryAttention(3, 2, 1), (QUERY, VALUE), {"return_attention_scores": True}
    ),
    "GroupQueryAttention, gate": Case(
        lambda: layers.GroupQueryAttention(3, 4, 2, use_gate=True, sliding_window=2), (QUERY, QUERY), since="3.15"
    ),
}
