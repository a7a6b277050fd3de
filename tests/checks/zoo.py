"""Layers and models as people write them: from guides, papers and questions. What each is fed is in `test_guess.py`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import keras
from keras import layers, ops

EPS = 1e-6


class TransformerBlock(layers.Layer):
    def __init__(self, embed_dim, num_heads, ff_dim, rate=0.1, **kwargs):
        super().__init__(**kwargs)
        self.att = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim)
        self.ffn = keras.Sequential([layers.Dense(ff_dim, activation="relu"), layers.Dense(embed_dim)])
        self.layernorm1 = layers.LayerNormalization(epsilon=EPS)
        self.layernorm2 = layers.LayerNormalization(epsilon=EPS)
        self.dropout1 = layers.Dropout(rate)

    def call(self, inputs, training=None):
        attn = self.att(inputs, inputs)
        out1 = self.layernorm1(inputs + self.dropout1(attn, training=training))
        return self.layernorm2(out1 + self.ffn(out1))


class TokenAndPositionEmbedding(layers.Layer):
    def __init__(self, maxlen, vocab_size, embed_dim):
        super().__init__()
        self.token_emb = layers.Embedding(input_dim=vocab_size, output_dim=embed_dim)
        self.pos_emb = layers.Embedding(input_dim=maxlen, output_dim=embed_dim)

    def call(self, x):
        maxlen = ops.shape(x)[-1]
        positions = ops.arange(0, maxlen, 1)
        return self.token_emb(x) + self.pos_emb(positions)


class Sampling(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        z_mean, z_log_var = inputs
        batch = ops.shape(z_mean)[0]
        dim = ops.shape(z_mean)[1]
        epsilon = keras.random.normal(shape=(batch, dim), seed=self.seed_generator)
        return z_mean + ops.exp(0.5 * z_log_var) * epsilon


class VAE(keras.Model):
    def __init__(self, encoder, decoder, **kwargs):
        super().__init__(**kwargs)
        self.encoder = encoder
        self.decoder = decoder

    def call(self, x):
        return self.decoder(self.encoder(x))


class Patches(layers.Layer):
    def __init__(self, patch_size):
        super().__init__()
        self.patch_size = patch_size

    def call(self, images):
        input_shape = ops.shape(images)
        batch_size = input_shape[0]
        height = input_shape[1]
        width = input_shape[2]
        channels = input_shape[3]
        patches = ops.image.extract_patches(images, size=self.patch_size)
        return ops.reshape(
            patches,
            (
                batch_size,
                (height // self.patch_size) * (width // self.patch_size),
                self.patch_size * self.patch_size * channels,
            ),
        )


class PatchEncoder(layers.Layer):
    def __init__(self, num_patches, projection_dim):
        super().__init__()
        self.num_patches = num_patches
        self.projection = layers.Dense(units=projection_dim)
        self.position_embedding = layers.Embedding(input_dim=num_patches, output_dim=projection_dim)

    def call(self, patch):
        positions = ops.expand_dims(ops.arange(start=0, stop=self.num_patches, step=1), axis=0)
        return self.projection(patch) + self.position_embedding(positions)


class ResidualBlock(layers.Layer):
    def __init__(self, filters, kernel_size=3, **kwargs):
        super().__init__(**kwargs)
        self.conv1 = layers.Conv2D(filters, kernel_size, padding="same")
        self.conv2 = layers.Conv2D(filters, kernel_size, padding="same")

    def call(self, x):
        return x + self.conv2(ops.relu(self.conv1(x)))


class SEBlock(layers.Layer):
    def __init__(self, ratio=16, **kwargs):
        super().__init__(**kwargs)
        self.ratio = ratio

    def build(self, input_shape):
        c = input_shape[-1]
        self.fc1 = layers.Dense(max(1, c // self.ratio), activation="relu")
        self.fc2 = layers.Dense(c, activation="sigmoid")

    def call(self, x):
        s = ops.mean(x, axis=(1, 2))
        s = self.fc2(self.fc1(s))
        return x * s[:, None, None, :]


class BahdanauAttention(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.W1 = layers.Dense(units)
        self.W2 = layers.Dense(units)
        self.V = layers.Dense(1)

    def call(self, query, values):
        q = ops.expand_dims(query, 1)
        score = self.V(ops.tanh(self.W1(q) + self.W2(values)))
        w = ops.softmax(score, axis=1)
        return ops.sum(w * values, axis=1), w


class MinimalRNNCell(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.state_size = units

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units), initializer="uniform", name="kernel")
        self.recurrent_kernel = self.add_weight(shape=(self.units, self.units), initializer="uniform", name="rk")

    def call(self, inputs, states):
        prev = states[0]
        out = ops.matmul(inputs, self.kernel) + ops.matmul(prev, self.recurrent_kernel)
        return out, [out]


class RecommenderNet(keras.Model):
    def __init__(self, num_users, num_movies, embedding_size, **kwargs):
        super().__init__(**kwargs)
        self.user_embedding = layers.Embedding(num_users, embedding_size)
        self.user_bias = layers.Embedding(num_users, 1)
        self.movie_embedding = layers.Embedding(num_movies, embedding_size)
        self.movie_bias = layers.Embedding(num_movies, 1)

    def call(self, inputs):
        user_vector = self.user_embedding(inputs[:, 0])
        user_bias = self.user_bias(inputs[:, 0])
        movie_vector = self.movie_embedding(inputs[:, 1])
        movie_bias = self.movie_bias(inputs[:, 1])
        dot = ops.sum(user_vector * movie_vector, axis=-1, keepdims=True)
        return ops.nn.sigmoid(dot + user_bias + movie_bias)


class TwoTower(keras.Model):
    def __init__(self, num_users, num_items, dim=4):
        super().__init__()
        self.user = keras.Sequential([layers.Embedding(num_users, dim), layers.Dense(dim)])
        self.item = keras.Sequential([layers.Embedding(num_items, dim), layers.Dense(dim)])

    def call(self, inputs):
        return ops.sum(self.user(inputs["user_id"]) * self.item(inputs["item_id"]), axis=-1)


class MixedFeatures(keras.Model):
    def __init__(self, vocab_size):
        super().__init__()
        self.emb = layers.Embedding(vocab_size, 4)
        self.out = layers.Dense(1)

    def call(self, features):
        e = self.emb(features["category_id"])
        x = ops.concatenate([e, features["dense_features"]], axis=-1)
        return self.out(x)


class SinusoidalTimeEmbedding(layers.Layer):
    def __init__(self, dim, **kwargs):
        super().__init__(**kwargs)
        self.dim = dim

    def call(self, t):
        half = self.dim // 2
        freqs = ops.exp(-math.log(10000.0) * ops.arange(half, dtype="float32") / half)
        args = t[:, None] * freqs[None, :]
        return ops.concatenate([ops.sin(args), ops.cos(args)], axis=-1)


class DiffusionBlock(layers.Layer):
    def __init__(self, width):
        super().__init__()
        self.conv = layers.Conv2D(width, 3, padding="same")
        self.proj = layers.Dense(width)

    def call(self, x, t):
        return self.conv(x) + self.proj(t)[:, None, None, :]


class GraphConv(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.dense = layers.Dense(units)

    def call(self, inputs):
        features, adjacency = inputs
        return ops.matmul(adjacency, self.dense(features))


class CapsuleLayer(layers.Layer):
    def __init__(self, num_capsule, dim_capsule, routings=3):
        super().__init__()
        self.num_capsule, self.dim_capsule, self.routings = num_capsule, dim_capsule, routings

    def build(self, input_shape):
        self.W = self.add_weight(shape=(self.num_capsule, input_shape[1], self.dim_capsule, input_shape[2]), name="W")

    def call(self, inputs):
        x = ops.expand_dims(ops.expand_dims(inputs, 1), -1)
        u = ops.squeeze(ops.matmul(self.W, x), -1)
        return ops.sum(u, axis=2)


class MultiHeadSelfAttention(layers.Layer):
    def __init__(self, embed_dim, num_heads=8):
        super().__init__()
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        if embed_dim % num_heads != 0:
            raise ValueError(f"embedding dimension = {embed_dim} should be divisible by number of heads = {num_heads}")
        self.projection_dim = embed_dim // num_heads
        self.qkv = layers.Dense(3 * embed_dim)

    def call(self, inputs):
        b, t, d = ops.shape(inputs)
        qkv = ops.reshape(self.qkv(inputs), (b, t, 3, self.num_heads, self.projection_dim))
        q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
        s = ops.softmax(ops.einsum("bqhd,bkhd->bhqk", q, k))
        return ops.reshape(ops.einsum("bhqk,bkhd->bqhd", s, v), (b, t, d))


class Encoder(layers.Layer):
    def __init__(self, *, num_layers, d_model, num_heads, dff, vocab_size, dropout_rate=0.1):
        super().__init__()
        self.d_model = d_model
        self.embedding = layers.Embedding(vocab_size, d_model)
        self.enc_layers = [TransformerBlock(d_model, num_heads, dff) for _ in range(num_layers)]

    def call(self, x):
        x = self.embedding(x) * ops.sqrt(ops.cast(self.d_model, "float32"))
        for layer in self.enc_layers:
            x = layer(x)
        return x


class CrossAttentionDecoder(layers.Layer):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.mha = layers.MultiHeadAttention(num_heads, d_model)
        self.add = layers.Add()

    def call(self, x, context):
        attn = self.mha(query=x, key=context, value=context)
        return self.add([x, attn])


class Seq2Seq(keras.Model):
    def __init__(self, vocab_size, units):
        super().__init__()
        self.emb = layers.Embedding(vocab_size, units)
        self.enc = layers.GRU(units, return_state=True)
        self.dec = layers.GRU(units, return_sequences=True)
        self.out = layers.Dense(vocab_size)

    def call(self, inputs):
        context, x = inputs
        _, state = self.enc(self.emb(context))
        return self.out(self.dec(self.emb(x), initial_state=state))


class Antirectifier(layers.Layer):
    def __init__(self, initializer="he_normal", **kwargs):
        super().__init__(**kwargs)
        self.initializer = keras.initializers.get(initializer)

    def build(self, input_shape):
        output_dim = input_shape[-1]
        self.kernel = self.add_weight(shape=(output_dim * 2, output_dim), initializer=self.initializer, name="kernel")

    def call(self, inputs):
        inputs = inputs - ops.mean(inputs, axis=-1, keepdims=True)
        pos = ops.relu(inputs)
        neg = ops.relu(-inputs)
        return ops.matmul(ops.concatenate([pos, neg], axis=-1), self.kernel)


class SpectralConv(layers.Layer):
    def __init__(self, in_channels, out_channels, modes):
        super().__init__()
        self.w = self.add_weight(shape=(in_channels, out_channels), name="w")

    def call(self, x):
        return ops.einsum("bnc,co->bno", x, self.w)


class AutoEncoder(keras.Model):
    def __init__(self, latent_dim=16, original_dim=784):
        super().__init__()
        self.enc = layers.Dense(latent_dim)
        self.dec = layers.Dense(original_dim)

    def call(self, x):
        out = self.dec(self.enc(x))
        self.add_loss(ops.mean(ops.square(x - out)))
        return out


class Annotated(layers.Layer):
    def __init__(
        self,
        thing: layers.Layer,
        scale: float,
        fn: Callable,
        mode: Literal["sum", "mean"],
        flags: tuple[int, int],
        names: list[str],
        use_it: bool,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.thing, self.fn = thing, fn
        self.told: Any = (scale, mode, flags, names, use_it)

    def call(self, x):
        return self.fn(self.thing(x))


class PassesKeywords(layers.Dense):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def call(self, x):
        return super().call(x) * 2


class MoE(layers.Layer):
    def __init__(self, num_experts, hidden_size, top_k=2):
        super().__init__()
        self.gate = layers.Dense(num_experts)
        self.experts = [layers.Dense(hidden_size) for _ in range(num_experts)]

    def call(self, x):
        g = ops.softmax(self.gate(x))
        y = ops.stack([e(x) for e in self.experts], axis=-1)
        return ops.sum(y * ops.expand_dims(g, -2), axis=-1)


class NeedsMask(layers.Layer):
    def call(self, x, mask):
        m = ops.cast(mask, x.dtype)[..., None]
        return ops.sum(x * m, axis=1) / (ops.sum(m, axis=1) + EPS)


class NeedsTraining(layers.Layer):
    def call(self, x, training):
        return x * 2 if training else x


class FactorizationMachine(layers.Layer):
    def call(self, inputs):
        square = ops.square(ops.sum(inputs, axis=1))
        s = ops.sum(ops.square(inputs), axis=1)
        return 0.5 * ops.sum(square - s, axis=-1, keepdims=True)


class CTCLike(layers.Layer):
    def call(self, y_true, y_pred):
        return ops.mean(ops.square(y_true - y_pred), axis=-1)


class VectorQuantizer(layers.Layer):
    def __init__(self, num_embeddings, embedding_dim, beta=0.25, **kwargs):
        super().__init__(**kwargs)
        self.embedding_dim, self.num_embeddings, self.beta = embedding_dim, num_embeddings, beta
        self.embeddings = self.add_weight(shape=(embedding_dim, num_embeddings), name="e")

    def call(self, x):
        shape = ops.shape(x)
        flat = ops.reshape(x, [-1, self.embedding_dim])
        sim = ops.matmul(flat, self.embeddings)
        d = ops.sum(flat**2, axis=1, keepdims=True) + ops.sum(self.embeddings**2, axis=0) - 2 * sim
        idx = ops.argmin(d, axis=1)
        q = ops.matmul(ops.one_hot(idx, self.num_embeddings), ops.transpose(self.embeddings))
        return ops.reshape(q, shape)


class ConvNet(keras.Model):
    def __init__(self, num_classes):
        super().__init__()
        self.c1 = layers.Conv2D(8, 3, activation="relu")
        self.p1 = layers.MaxPooling2D()
        self.c2 = layers.Conv2D(8, 3, activation="relu")
        self.p2 = layers.MaxPooling2D()
        self.f = layers.Flatten()
        self.d = layers.Dense(num_classes)

    def call(self, x):
        return self.d(self.f(self.p2(self.c2(self.p1(self.c1(x))))))


class FixedImage(keras.Model):
    def __init__(self, image_size=72, patch=6):
        super().__init__()
        self.n = (image_size // patch) ** 2
        self.conv = layers.Conv2D(4, patch, strides=patch)
        self.pos = layers.Embedding(self.n, 4)

    def call(self, x):
        x = self.conv(x)
        x = ops.reshape(x, (-1, self.n, 4))
        return x + self.pos(ops.arange(self.n))


class UNet(keras.Model):
    def __init__(self, filters=4):
        super().__init__()
        self.d1 = layers.Conv2D(filters, 3, padding="same")
        self.d2 = layers.Conv2D(filters, 3, padding="same")
        self.up = layers.UpSampling2D()
        self.out = layers.Conv2D(1, 1)

    def call(self, x):
        a = self.d1(x)
        b = self.d2(layers.MaxPooling2D()(a))
        c = self.d2(layers.MaxPooling2D()(b))
        return self.out(ops.concatenate([a, self.up(ops.concatenate([b, self.up(c)], -1))], -1))


class MySequential(keras.Sequential):
    def __init__(self, hidden):
        super().__init__([keras.Input((6,)), layers.Dense(hidden), layers.Dense(2)])


class MyFunctional(keras.Model):
    def __init__(self, units=4):
        a, b = keras.Input((5,)), keras.Input((3,), dtype="int32")
        super().__init__([a, b], layers.Dense(units)(ops.concatenate([a, ops.cast(b, "float32")], -1)))


class Siamese(keras.Model):
    def __init__(self, embedding_model):
        super().__init__()
        self.net = embedding_model

    def call(self, inputs):
        anchor, positive, negative = inputs
        return ops.stack([self.net(anchor), self.net(positive), self.net(negative)], axis=1)
