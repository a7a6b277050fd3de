"""Guessing: layers as people write them are built and fed; what can't be is said; a layer's own fault isn't hidden."""

from __future__ import annotations

import time
import warnings
from typing import Any

import keras
import numpy as np
import pytest
from checks import zoo
from hypothesis import given
from hypothesis import strategies as st
from keras import layers, ops

from layerwright.checks import guess
from layerwright.checks.attempt import Failure
from layerwright.checks.guess import CannotGuess, build, describe, inputs_for
from layerwright.checks.guess import search as guess_search
from layerwright.checks.guess.arguments import plans, values_for
from layerwright.checks.guess.derive import derived
from layerwright.checks.guess.layouts import Layout
from layerwright.checks.guess.values import ANNOTATIONS, NAMES, UNKNOWN, by_name

SEQUENCE, TABLE, IMAGE = "float32 (2, 5, 8)", "float32 (2, 8)", "float32 (2, 8, 12, 3)"
FED = {
    "TransformerBlock": SEQUENCE,
    "TokenAndPositionEmbedding": "int32 (2, 5)",
    "Sampling": f"[{TABLE}, {TABLE}]",
    "VAE": TABLE,
    "Patches": IMAGE,
    "PatchEncoder": SEQUENCE,
    "ResidualBlock": IMAGE,
    "SEBlock": IMAGE,
    "BahdanauAttention": f"{TABLE}, {SEQUENCE}",
    "MinimalRNNCell": SEQUENCE,
    "RecommenderNet": "int32 (2, 5)",
    "TwoTower": "{'user_id': int32 (2,), 'item_id': int32 (2,)}",
    "MixedFeatures": "{'category_id': int32 (2,), 'dense_features': float32 (2, 8)}",
    "SinusoidalTimeEmbedding": "float32 (2,)",
    "DiffusionBlock": f"{IMAGE}, {TABLE}",
    "GraphConv": f"[{SEQUENCE}, float32 (2, 5, 5)]",
    "CapsuleLayer": SEQUENCE,
    "MultiHeadSelfAttention": SEQUENCE,
    "Encoder": "int32 (2, 5)",
    "CrossAttentionDecoder": f"{SEQUENCE}, {SEQUENCE}",
    "Seq2Seq": "[int32 (2, 5), int32 (2, 5)]",
    "Antirectifier": TABLE,
    "SpectralConv": SEQUENCE,
    "AutoEncoder": "float32 (2, 784)",
    "Annotated": TABLE,
    "PassesKeywords": TABLE,
    "MoE": TABLE,
    "NeedsMask": f"{SEQUENCE}, bool (2, 5)",
    "NeedsTraining": f"{TABLE}, training=False",
    "FactorizationMachine": SEQUENCE,
    "CTCLike": f"{TABLE}, {TABLE}",
    "VectorQuantizer": TABLE,
    "ConvNet": "float32 (2, 32, 48, 3)",
    "FixedImage": "float32 (2, 72, 72, 3)",
    "UNet": IMAGE,
    "MySequential": "float32 (2, 6)",
    "MyFunctional": "[float32 (2, 5), int32 (2, 3)]",
    "Siamese": f"[{TABLE}, {TABLE}, {TABLE}]",
}


def fed(subject: Any) -> str:
    return describe(tuple(subject.args), dict(subject.kwargs))


def problem_of(cls: type) -> Any:
    with pytest.raises(CannotGuess) as caught:
        build(cls)
    return caught.value.problem


def test_the_zoo_and_its_table_name_the_same_classes() -> None:
    classes = [n for n, v in vars(zoo).items() if isinstance(v, type) and issubclass(v, layers.Layer)]
    assert classes == list(FED)


@pytest.mark.parametrize("name", FED)
def test_a_layer_as_people_write_it_is_built_and_fed(name: str) -> None:
    subject = build(getattr(zoo, name))
    assert fed(subject) == FED[name]
    if keras.backend.backend() != "jax":  # it has traced the call; compiling every layer would take minutes
        outputs = subject.make()(*subject.args, **subject.kwargs)
        assert keras.tree.flatten(outputs)[0].shape[0] == 2


def test_ids_stay_below_the_vocabulary() -> None:
    class Embeds(layers.Layer):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.table = layers.Embedding(3, 4)

        def call(self, tokens: Any) -> Any:
            return self.table(tokens)

    subject = build(Embeds)
    assert subject.args[0].dtype == np.int32
    assert 0 <= subject.args[0].min() <= subject.args[0].max() < 3


def test_what_was_guessed_is_said() -> None:
    subject = build(zoo.VectorQuantizer)
    assert subject.remarks == (
        "Guessed: built as `VectorQuantizer(num_embeddings=16, embedding_dim=8)`, called with float32 (2, 8).",
    )
    assert (subject.name, subject.cls, subject.batched) == ("VectorQuantizer", zoo.VectorQuantizer, True)


def test_a_cell_is_run_by_an_rnn() -> None:
    subject = build(zoo.MinimalRNNCell)
    made = subject.make()
    assert isinstance(made, layers.RNN)
    assert isinstance(made.cell, zoo.MinimalRNNCell)
    assert subject.cls is zoo.MinimalRNNCell
    assert subject.remarks[-1] == "The cell is run by `keras.layers.RNN`."


def test_every_make_gives_fresh_layers_all_the_way_down() -> None:
    subject = build(zoo.Siamese)
    first, second = subject.make(), subject.make()
    assert first is not second
    assert first.net is not second.net


def test_the_guess_is_the_same_every_time() -> None:
    first, second = build(zoo.MoE), build(zoo.MoE)
    assert first.remarks == second.remarks
    assert np.array_equal(first.args[0], second.args[0])


def test_neither_warnings_nor_names_nor_policies_are_left_behind() -> None:
    class Loud(layers.Layer):
        def __init__(self, units: int, **kwargs: Any) -> None:
            warnings.warn("constructed", stacklevel=1)
            super().__init__(**kwargs)
            keras.config.set_floatx("float64")

        def call(self, x: Any) -> Any:
            warnings.warn("called", stacklevel=1)
            return x

    before = layers.Dense(1).name
    build(Loud)
    after = layers.Dense(1).name
    assert keras.config.floatx() == "float32"
    number = int(before.rsplit("_", 1)[1]) if "_" in before else 0
    assert after == f"dense_{number + 1}"


def test_the_sizes_differ_where_they_may() -> None:
    class Lift(layers.Layer):
        def __init__(self, units: int) -> None:
            super().__init__()
            self.dense = layers.Dense(units)

        def call(self, x: Any) -> Any:
            return self.dense(x)

    subject = build(Lift)
    assert subject.remarks == ("Guessed: built as `Lift(units=3)`, called with float32 (2, 8).",)


def test_the_sizes_agree_where_the_layer_adds_its_input() -> None:
    class Residual(layers.Layer):
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

        def call(self, x: Any) -> Any:
            return x + self.inner(x)

    subject = build(Residual)
    assert subject.args[0].shape == (2, 3)
    assert subject.make()(*subject.args).shape == (2, 3)


def test_a_size_in_an_error_leads_to_the_right_one() -> None:
    class Tint(layers.Layer):
        def call(self, x: Any) -> Any:
            return x * ops.convert_to_tensor(np.ones(11, "float32"))

    assert fed(build(Tint)) == "float32 (2, 11)"


def test_a_layer_that_keeps_its_batch_is_preferred_to_one_that_does_not() -> None:
    class Grid(layers.Layer):
        def call(self, x: Any) -> Any:
            return ops.reshape(x, (-1, 2, 2))

    assert fed(build(Grid)) == "float32 (2, 4)"


def test_a_mask_parameter_or_method_speaks_for_sequences() -> None:
    class Pool(layers.Layer):
        def call(self, x: Any) -> Any:
            return ops.mean(x, axis=-1)

        def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
            return mask

    assert fed(build(Pool)) == SEQUENCE


def test_a_shape_that_is_unpacked_says_the_rank() -> None:
    class Unpacks(layers.Layer):
        def call(self, x: Any) -> Any:
            _batch, _height, _width, channels = x.shape
            return x * channels

    assert fed(build(Unpacks)) == IMAGE


def test_numbers_and_flags_of_call_are_given_by_keyword() -> None:
    class Window(layers.Layer):
        def call(self, x: Any, steps: Any, *, reverse: Any) -> Any:
            return x[:, :steps] * (-1.0 if reverse else 1.0)

    subject = build(Window)
    assert dict(subject.kwargs) == {"steps": 2, "reverse": True}


def test_arguments_that_have_no_keyword_are_given_by_position() -> None:
    class Scaled(layers.Layer):
        def __init__(self, units: int, /, *, rate: float) -> None:
            super().__init__()
            self.units, self.rate = units, rate

        def call(self, x: Any) -> Any:
            return self.rate * x

    subject = build(Scaled)
    assert subject.make().units == 3
    assert subject.remarks[0].startswith("Guessed: built as `Scaled(3, rate=")


def test_several_positional_inputs_of_any_number() -> None:
    class Sum(layers.Layer):
        def call(self, *inputs: Any) -> Any:
            return inputs[0] + inputs[1]

    assert fed(build(Sum)) == f"{TABLE}, {TABLE}"


def test_arguments_with_the_default_none_are_filled_where_it_does_not_do() -> None:
    class Needs(layers.Layer):
        def __init__(self, units: Any = None, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.units = units

        def call(self, x: Any) -> Any:
            if self.units is None:
                raise ValueError("say `units`")
            return ops.repeat(x, self.units, axis=-1)

    assert build(Needs).remarks == ("Guessed: built as `Needs(units=3)`, called with float32 (2, 8).",)


def test_a_functional_model_with_a_constructor_of_its_own() -> None:
    class Tower(keras.Model):
        def __init__(self, inputs: Any, outputs: Any, temperature: float, **kwargs: Any) -> None:
            super().__init__(inputs, outputs, **kwargs)
            self.temperature = temperature

    subject = build(Tower)
    assert fed(subject) == TABLE
    assert subject.make()(*subject.args).shape == (2, 3)


class Missing(layers.Layer):
    def call(self, x: Any) -> Any:
        return self.dense(x)


class OldStyle(layers.Layer):
    def build(self, input_shape: Any) -> None:
        self.w = self.add_weight("w", shape=(input_shape[-1],))

    def call(self, x: Any) -> Any:
        return x * self.w


class TooEarly(layers.Layer):
    def __init__(self, units: int) -> None:
        self.dense = layers.Dense(units)
        super().__init__()

    def call(self, x: Any) -> Any:
        return self.dense(x)


class Undefined(layers.Layer):
    def call(self, x: Any) -> Any:
        return x * no_such_name  # type: ignore[name-defined]  # noqa: F821


class Bulid(layers.Layer):
    def cal(self, x: Any) -> Any:
        return x


class Exits(layers.Layer):
    def call(self, x: Any) -> Any:
        raise SystemExit(3)


class Literals(layers.Layer):
    def call(self, inputs: Any) -> Any:
        return ops.concatenate([inputs, [1.0, 2.0]], axis=-1)


@pytest.mark.parametrize("cls", [Missing, OldStyle, Undefined, Bulid, Exits, Literals])
def test_a_fault_of_the_layers_own_is_left_to_the_rules(cls: type) -> None:
    subject = build(cls)
    assert fed(subject) == TABLE
    with pytest.raises((Exception, SystemExit)):
        subject.make()(*subject.args)


@pytest.mark.backend("torch")
def test_a_layer_that_cannot_be_constructed_whatever_it_is_given_comes_back_too() -> None:
    subject = build(TooEarly)
    assert subject.remarks == ("Guessed: built as `TooEarly(units=3)`, called with float32 (2, 8).",)
    with pytest.raises(AttributeError, match="cannot assign module"):
        subject.make()


def test_a_cell_with_a_fault_comes_back_with_a_sequence() -> None:
    class Cell(layers.Layer):
        state_size = 3

        def call(self, inputs: Any, states: Any) -> Any:
            return inputs[:, :3] + states[0]

        def get_initial_state(self, inputs: Any, batch_size: Any, dtype: Any) -> Any:
            return [ops.zeros((batch_size, 3))]

    assert fed(build(Cell)) == SEQUENCE


def test_what_cannot_be_built_names_the_arguments_and_the_line() -> None:
    class FromFile(layers.Layer):
        def __init__(self, path: str) -> None:
            super().__init__()
            if not path.endswith(".npy"):
                raise ValueError("not an .npy file")

        def call(self, x: Any) -> Any:
            return x

    problem = problem_of(FromFile)
    assert problem.kind == "not-built"
    assert problem.message == (
        "No values were found for the arguments of `FromFile`: "
        '`FromFile(path="relu")` raises ValueError: not an .npy file.'
    )
    assert problem.help == "write `@lw.example(path=..., inputs=lw.Spec((None, 8)))` above the class."
    assert problem.path == __file__
    assert problem.line == FromFile.__init__.__code__.co_firstlineno + 3


def test_what_cannot_be_fed_names_the_nearest_failure_and_its_line() -> None:
    class Picky(layers.Layer):
        def __init__(self, units: int) -> None:
            super().__init__()

        def call(self, x: Any) -> Any:
            if len(x.shape) != 3:
                raise ValueError("three axes")
            if x.shape[1] != x.shape[2] + 1000:
                raise ValueError("more steps")
            return x

    problem = problem_of(Picky)
    assert problem.kind == "not-fed"
    assert problem.message.startswith("No inputs were found that `Picky` takes: of ")
    assert problem.message.endswith(" kinds, the one that came nearest raised ValueError: more steps.")
    assert problem.help == (
        "write `@lw.example(units=3, inputs=lw.Spec((None, 5, 8)))` above the class, with its own shape."
    )
    assert (problem.path, problem.line) == (__file__, Picky.call.__code__.co_firstlineno + 4)


def test_a_model_without_call_says_so() -> None:
    class Adversarial(keras.Model):
        def __init__(self, generator: Any, discriminator: Any) -> None:
            super().__init__()
            self.generator, self.discriminator = generator, discriminator

        def train_step(self, data: Any) -> Any:
            return {}

    problem = problem_of(Adversarial)
    assert problem.kind == "not-fed"
    assert problem.message == "`Adversarial` defines no `call`, so there is nothing to feed."
    assert problem.help == "define `call`, or check the layers that it holds."


def test_the_number_of_tries_is_bounded_whatever_the_errors_say() -> None:
    calls = []

    class Endless(layers.Layer):
        def __init__(self, a: int, b: int, c: int) -> None:
            super().__init__()

        def call(self, x: Any) -> Any:
            calls.append(1)
            raise ValueError(f"expected a list of {len(calls)} with size {len(calls) + 100}, ndim={len(calls) % 7}")

    started = time.process_time()
    assert problem_of(Endless).kind == "not-fed"
    assert len(calls) <= 2 * guess_search.MAX_TRIES * len(plans(Endless))
    assert time.process_time() - started < 60


def test_inputs_are_found_for_what_a_callable_makes() -> None:
    args, kwargs = inputs_for(lambda: layers.Conv2D(3, 3))
    assert describe(args, kwargs) == IMAGE
    args, kwargs = inputs_for(lambda: keras.Sequential([keras.Input((4, 6)), layers.LSTM(2)]))
    assert describe(args, kwargs) == "float32 (2, 4, 6)"


def test_inputs_are_given_even_where_nothing_can_be_made() -> None:
    args, kwargs = inputs_for(lambda: layers.Dense("many"))
    assert describe(args, kwargs) == TABLE


def test_inputs_in_words() -> None:
    x = np.ones((2, 3), "float32")
    assert describe((x, [x, 3]), {"mask": None, "d": {"a": x}}) == (
        "float32 (2, 3), [float32 (2, 3), 3], mask=None, d={'a': float32 (2, 3)}"
    )
    assert describe((), {}) == "nothing"


ALL_TEXTS = sorted({text for _, texts in (*NAMES, *ANNOTATIONS) for text in texts} | set(UNKNOWN))


@pytest.mark.parametrize("text", ALL_TEXTS)
def test_every_value_is_python_that_can_be_evaluated(text: str) -> None:
    eval(text, {"keras": keras, "np": np})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("units", "3"),
        ("num_heads", "2"),
        ("key_dim", "4"),
        ("d_model", "8"),
        ("rate", "0.25"),
        ("dropout_rate", "0.25"),
        ("dilation_rate", "1"),
        ("learning_rate", "0.001"),
        ("kernel_size", "3"),
        ("kernel_initializer", '"glorot_uniform"'),
        ("activation", '"relu"'),
        ("axis", "-1"),
        ("epsilon", "0.001"),
        ("vocab_size", "16"),
        ("max_len", "16"),
        ("maxlen", "16"),
        ("num_classes", "3"),
        ("num_layers", "2"),
        ("use_bias", "True"),
        ("return_sequences", "True"),
        ("inner", "keras.layers.Dense(3)"),
        ("cell", "keras.layers.SimpleRNNCell(3)"),
        ("seed", "7"),
    ],
)
def test_a_name_of_the_field_has_its_value(name: str, value: str) -> None:
    found = by_name(name)
    assert found is not None
    assert found[0] == value


def test_the_annotation_decides_between_the_kinds_of_values() -> None:
    assert values_for(layers.Layer, "scale", float)[0] == "0.5"
    assert values_for(layers.Layer, "scale", int)[0] == "2"
    assert values_for(layers.Layer, "scale", "int | None")[0] == "2"
    assert values_for(layers.Layer, "units", "list[int]")[0] == "[4, 3]"
    assert values_for(layers.Layer, "xyzzy", "Literal['a', 'b']") == ("'a'", "'b'")


@given(st.text(max_size=20))
def test_any_name_has_values_or_none(name: str) -> None:
    found = by_name(name)
    assert found is None or (found and all(isinstance(text, str) for text in found))


texts = st.text(max_size=60) | st.from_regex(
    r"(expected ndim=\d, found|shape \(\d+, \d+\)|list of \d|rank \d|int32) ?\d*", fullmatch=True
)


@given(texts, st.integers(1, 5), st.sampled_from([ValueError, KeyError, TypeError, RuntimeError]))
def test_any_error_leads_to_few_inputs_of_a_known_rank(text: str, rank: int, kind: type[Exception]) -> None:
    for layout in derived(Layout(rank), Failure(kind(text), ())):
        assert 1 <= layout.rank <= 5
        assert len(layout.shape()) == layout.rank
        assert all(1 <= size <= 6144 for size in layout.shape())
    assert len(derived(Layout(rank), Failure(kind(text), ()))) <= 16


def test_the_guess_of_a_class_ends_in_time() -> None:
    started = time.process_time()
    guess.build(zoo.TransformerBlock)
    assert time.process_time() - started < 20
