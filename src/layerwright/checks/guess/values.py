"""Values for constructor arguments, by name and by annotation: each as a line of Python that a reader understands.

Every entry lists alternatives, the likeliest first. The first ones differ from the size of the inputs, so that a
swapped axis shows; the second ones equal it, for layers that add their inputs to what they compute.
"""

from __future__ import annotations

import re

WIDTH = ("3", "8", "4")
MODEL_WIDTH = ("8", "4", "3")
LAYER = ("keras.layers.Dense(3)", "keras.layers.Dense(8)", "keras.layers.LSTM(4)", "keras.layers.Conv2D(3, 3)")
LAYERS = (
    "[keras.layers.Dense(4), keras.layers.Dense(3)]",
    "[keras.layers.Dense(8), keras.layers.Dense(8)]",
)
MODEL = ("keras.Sequential([keras.layers.Dense(3)])", "keras.Sequential([keras.layers.Dense(8)])")
FUNCTION = ("keras.activations.tanh", "lambda x: x")
IDS = ("16",)
ARRAY = ('np.ones((16, 8), "float32")', 'np.ones((8,), "float32")')
PAIR = ("(2, 2)", "[2, 2]", "(2, 4)", "(1,)")
UNKNOWN = ("3", "8", "0.5", "(2, 2)", '"relu"', "keras.activations.tanh", "keras.layers.Dense(8)", "None", "[2, 2]")

# The first pattern that matches the whole name in lower case wins.
NAMES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"(candidate|item|user)_(embeddings|vectors)|(\w+_)?embeddings?_(matrix|table|weights)", ARRAY),
    (r"candidate_(ids|identifiers)", ('np.arange(16, dtype="int32")',)),
    (r"(\w+_)?activation(_fn)?|act|act_fn|nonlinearity", ('"relu"', "keras.activations.relu", "keras.layers.ReLU()")),
    (r"(\w+_)?initializer|init", ('"glorot_uniform"', "keras.initializers.RandomNormal()")),
    (r"(\w+_)?regularizer", ('"l2"',)),
    (r"(\w+_)?constraint", ("None",)),
    (r"(\w+_)?optimizer", ('"sgd"',)),
    (r"(\w+_)?loss(_fn)?", ('"mse"', "keras.losses.MeanSquaredError()")),
    (r"(\w+_)?metrics?", ("[]",)),
    (r"(\w+_)?seed", ("7",)),
    (r"seed_generator", ("keras.random.SeedGenerator(7)",)),
    (r"(\w+_)?name|prefix|scope", ('"probe"',)),
    (r"dtype|(\w+_)dtype", ('"float32"',)),
    (r"data_format", ('"channels_last"',)),
    (r"padding", ('"same"', "1")),
    (r"interpolation", ('"bilinear"',)),
    (r"norm|normalization|norm_type", ('"layer"', "keras.layers.LayerNormalization()", "True")),
    (r"pool(ing)?(_type)?|reduction|combiner|mode|method|agg(regation)?", ('"mean"', '"sum"', '"max"', '"add"')),
    (r"axis|concat_axis|softmax_axis|(\w+_)axis", ("-1", "1")),
    (r"axes", ("(-1,)", "(2, 2)", "-1", "(1,)")),
    (r"(\w+_)?dims|permutation|perm", ("(2, 1)", "(1,)", "[2, 1]", "[8]")),
    (r"(learning_rate|lr|base_lr)", ("0.001",)),
    (r"sampl(e|ing)_rate|sr", ("16000",)),
    (r"(\w+_)?dilation(_rates?)?|dilations|(\w+_)?strides?", ("1", "(1, 1)", "[1, 1]")),
    (
        r"(\w+_)?(reduction|expansion|squeeze|growth|expand|mlp|compression)(_(ratio|factor|rate))?|ratio|bottleneck",
        ("2", "0.5"),
    ),
    (r"(\w+_)?factor", ("0.5", "2")),
    (r"equation", ('"ab,bc->ac"',)),
    (r"(\w+_)?(rate|drop|dropout|dropout_rate|drop_path|prob|probability|p)", ("0.25",)),
    (r"(\w+_)?(epsilon|eps|tol|tolerance|jitter)", ("0.001",)),
    (r"(\w+_)?(momentum|decay|ema|discount)", ("0.9",)),
    (
        r"(\w+_)?(vocab|vocabulary)_?size|(n|num|max)_(tokens|words|features|embeddings|items|users|categories|ids|entities|buckets)",
        IDS,
    ),
    (r"(\w+_)?(n|num)_(items|users|tokens|embeddings|categories|positions)|vocab|cardinality|input_size_vocab", IDS),
    (
        r"(\w+_)?max(imum)?_?(len|length|seq_?len|sequence_length|position(s|_embeddings)?|timesteps?|time|steps)",
        ("16", "5"),
    ),
    (
        r"(\w+_)?(seq(uence)?_?len(gth)?|seqlen|context_length|block_size|time_?steps|num_frames|n_steps|length|num_patches)",
        ("5", "16"),
    ),
    (r"max(_\w+)?|(\w+_)?max|high|upper(_\w+)?|max_value", ("1.0", "8")),
    (r"min(_\w+)?|(\w+_)?min|low|lower(_\w+)?|min_value", ("0.0", "1")),
    (
        r"(\w+_)?(kernel|window|filter)_?(size|width)|kernel|ksize|receptive_field|width_multiplier_kernel",
        ("3", "(3, 3)", "[3, 3]"),
    ),
    (r"(\w+_)?(patch|pool)_?size|(down|up)(sampling|_factor|sample)?|scale_factor|upscale(_factor)?", ("2", "(2, 2)")),
    (
        r"(image|img|input)_?(size|resolution)|resolution|height|width|(img|image)_(h|w|height|width|dim)",
        ("8", "(8, 8)", "(8, 8, 3)"),
    ),
    (r"(image|img|input)_shape", ("(8, 8, 3)", "(8,)", "(5, 8)")),
    (r"(target|output|out|new)_shape|shape", ("(2, 4)", "(8,)", "(4, 2)")),
    (r"(\w+_)?(num|n)_?(\w+_)?(heads?|head)|heads|nheads?|num_groups|groups|n_groups", ("2",)),
    (r"(key|value|query|head|qk|v)_(dim|size)|d_(k|v|head)|dim_head|projection_dim", ("4", "8")),
    (r"(\w+_)?(num_|n_|nb_)?(class(es)?|labels|outputs|actions|targets|categories)", ("3", "8")),
    (r"top_?k|k|(\w+_)?top_k", ("2", "1")),
    (
        r"(num|n)_(bins|bits|quantiles|mixtures|components|codes|centers|clusters|prototypes|capsules?|experts?)|order|degree",
        ("4", "8"),
    ),
    (
        r"(\w+_)?d_?model|(\w+_)?(model|embed(ding)?s?|emb)_?(dims?|size|width)|hidden_size|channels?_in|in_(\w+)|dim_in|(n|num)_inputs",
        MODEL_WIDTH,
    ),
    (
        r"input_dims?|input_size|input_(features|channels)|original_dim|feature_dim|dim|d|size|embed_dim|latent_size|n_features",
        MODEL_WIDTH,
    ),
    (
        r"(\w+_)?(units|nodes|neurons|filters|channels|features|width|hidden|latent|dims?|sizes?|output|rank|out|ff|embedding|"
        r"embeddings)(_(dims?|units|size|width|channels|features|filters|nodes|\d+|a|b|in|out))?|d_ff|dff|mlp_dim|(\w+_)dim(_\w+)?|"
        r"(units|filters|channels|hidden|dim|f|d|n)_?\d+|u|f",
        WIDTH,
    ),
    (
        r"(hidden_|conv_|mlp_)?(units|filters|channels|dims|layer_sizes|hidden_layers|sizes|widths)_?list|hidden_dims",
        ("[4, 3]", "[8, 8]"),
    ),
    (r"cell|rnn_cell", ("keras.layers.SimpleRNNCell(3)",)),
    (r"cells", ("[keras.layers.SimpleRNNCell(4), keras.layers.SimpleRNNCell(3)]",)),
    (r"rnn|(\w+_)?rnn_layer|forward_layer", ("keras.layers.LSTM(3)",)),
    (r"(layers|blocks|sublayers|modules|branches|experts|towers|heads_list|layers_list)(_list)?", LAYERS),
    (r"\w*(model|backbone|network|net|generator|discriminator|teacher|student|encoder|decoder|tower)", MODEL),
    (
        r"(\w+_)?(layer|sublayer|block|module|inner|inner_layer|wrapped|base|branch|head|projection|mlp|ffn|attention|dense|body|gate|expert)",
        LAYER,
    ),
    (r"(\w+_)?(fn|func|function|callable|op|operation|transform|callback|mapping)", FUNCTION),
    (
        r"(num|n|nb)_\w+|(\w+_)?(depth|levels?|repeats?|times|steps?|count|stages|layers|iterations|num|blocks|lags?|hops?|order|n|factor)",
        ("2",),
    ),
    (r"vocabulary|words|tokens|keys|names|categories|feature_names|columns", ('["a", "b", "c"]',)),
    (
        r"(\w+_)?(weights|matrix|table|embeddings|embedding_matrix|array|prototypes|centers|candidates|candidate_\w+|data)",
        ARRAY,
    ),
    (r"bins|bin_boundaries|boundaries|thresholds|knots|quantiles|grid|points", ("[0.0, 0.5, 1.0]",)),
    (
        r"(use|return|is|with|has|add|do|enable|apply|keep|include|share|learn|learnable|trainable)_\w+",
        ("True", "False"),
    ),
    (
        r"causal|bidirectional|residual|normalize|verbose|stateful|mask_zero|hard|training|trainable|flag|reverse",
        ("True", "False"),
    ),
    (r"mean", ("0.0",)),
    (r"variance|var|std|stddev|sigma|noise(_\w+)?", ("1.0",)),
    (
        r"(\w+_)?(alpha|beta|gamma|delta|tau|temperature|temp|scale|scaling|gain|slope|coefficient|coeff?|lambda|lam|lambda_|weight|"
        r"smoothing|strength|threshold|margin|value|start|offset|bias|shift|multiplier|power|clip|clip_value|limit|factor|amount|"
        r"intensity|penalty|constant|c|a|b)",
        ("0.5", "2"),
    ),
)
_PATTERNS = tuple((re.compile(pattern), values) for pattern, values in NAMES)

# Words of an annotation, the first that stands in it wins; "int" comes after the containers of ints.
ANNOTATIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"Callable", FUNCTION),
    (r"Initializer", ('"glorot_uniform"',)),
    (r"Regularizer", ('"l2"',)),
    (r"(list|List|Sequence|Iterable|tuple|Tuple)\[.*(Layer|Model)\b", LAYERS),
    (r"\bModel\b|Sequential|Functional", MODEL),
    (r"\bLayer\b", LAYER),
    (r"(list|List|Sequence|Iterable)\[\s*(int|float)", ("[4, 3]", "[8, 8]")),
    (r"(list|List|Sequence|Iterable)\[\s*str", ('["a", "b"]',)),
    (r"(tuple|Tuple)\[\s*(int|float)", ("(2, 2)", "(2, 4)", "(8,)")),
    (r"\b(list|List|Sequence|Iterable)\b", ("[4, 3]", "[8, 8]", '["a", "b"]')),
    (r"\b(tuple|Tuple)\b", PAIR),
    (r"\b(dict|Dict|Mapping)\b", ("{}",)),
    (r"ndarray|Tensor|ArrayLike|Array\b", ARRAY),
    (r"\bint\b|Integral", ("3", "8", "2", "16")),
    (r"\bfloat\b", ("0.5", "2.0")),
    (r"\bbool\b", ("True", "False")),
    (r"\bstr\b", ('"relu"', '"mean"', '"same"')),
)
_WORDS = tuple((re.compile(pattern), values) for pattern, values in ANNOTATIONS)


def by_name(name: str) -> tuple[str, ...] | None:
    """Values for an argument of this name, the likeliest first; None for a name that says nothing."""
    lowered = name.lower().strip("_")
    return next((values for pattern, values in _PATTERNS if pattern.fullmatch(lowered)), None)


def by_annotation(text: str) -> tuple[str, ...] | None:
    """Values for an argument with this annotation, the likeliest first; None for one that says nothing."""
    return next((values for pattern, values in _WORDS if pattern.search(text)), None)


def kind(text: str) -> str:
    """What a value is: "int", "float", "bool", "str", "container", "layer" or "other"."""
    if re.fullmatch(r"-?\d+", text):
        return "int"
    if re.fullmatch(r"-?\d+\.\d+", text):
        return "float"
    if text in ("True", "False"):
        return "bool"
    if text.startswith('"'):
        return "str"
    if "keras.layers" in text or "keras.Sequential" in text:
        return "layers" if text.startswith("[") else "layer"
    return "container" if text[:1] in "[({" else "other"
