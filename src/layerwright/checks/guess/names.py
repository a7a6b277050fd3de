"""What names say of inputs: of a rank, of ids, of what isn't a tensor at all."""

from __future__ import annotations

import re

IDS = re.compile(
    r"(\w+_)?(ids?|tokens?|indices|indexes|index|idx|token_type_ids|positions?|labels?|categories|codes|segments?)(_\w*id)?"
)
_RANKS = (
    (1, r"t|times?|time_?steps?|noise_levels?|noise_variances?|sigmas?"),
    (4, r"(\w+_)?(image|img|picture|pixel|pixel_value|photo|frame|feature_map)s?(_\w+)?"),
    (5, r"(\w+_)?(volume|video|voxel)s?"),
    (3, r"(\w+_)?(sequence|seq|query|queries|q|key|value|context|memory|hidden_states|encoder_\w+|decoder_\w+)s?"),
)
_CLASSES = (
    (5, r"3D|Video|Volum|Voxel|ConvLSTM2[Dd]"),
    (4, r"2[Dd]|Image|Patch|ViT|Vision|ResNet|ResidualBlock|U[Nn]et|Spatial|Convolution|CNN|SqueezeExcit|CBAM|Swin"),
    (3, r"1[Dd]|Attention|Transformer|Position|Sequence|Tempor|Time|RNN|LSTM|GRU|Recurrent|Caps|Token|Text|Graph|CRF"),
)
NUMBERS = re.compile(r"(num_|n_)\w+|n|k|steps?|axis|size|count|length|max_len\w*|top_k|dim|depth|stride|window|offset")
FLAGS = re.compile(r"(return|use|is|with|apply|do)_\w+|causal|deterministic|inference|reverse|verbose|train")
VOCABULARIES = re.compile(r"(\w+_)?(vocab\w*|num_tokens|num_embeddings)")
ADJACENCY = re.compile(r"(\w+_)?(adj\w*|graph|edges|a_hat|laplacian)")


def rank_of(name: str) -> int | None:
    """The rank that the name of an input says, as `image` does."""
    return next((rank for rank, pattern in _RANKS if re.fullmatch(pattern, name)), None)


def ranks_of_class(name: str) -> list[int]:
    """The ranks that a class's name speaks for, as `PatchEmbedding` does."""
    return [rank for rank, pattern in _CLASSES if re.search(pattern, name)]
