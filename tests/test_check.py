"""The one call: subjects, inputs, what is left as it was, and what is allowed."""

from __future__ import annotations

import random

import keras
import numpy as np
import pytest
from keras import layers, ops

import layerwright as lw
from layerwright.errors import InputsError, RuleError, SubjectError

X = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4)


@keras.saving.register_keras_serializable(package="tests")
class Demean(layers.Layer):
    """Its rows depend on each other."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        return x - ops.mean(x)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


@keras.saving.register_keras_serializable(package="tests")
class Intended(Demean):  # layerwright: allow[batch-dependence] the mean of the batch is the point
    """The same, said to be meant."""


@keras.saving.register_keras_serializable(package="tests")
class Unreasoned(Demean):  # layerwright: allow[batch-dependence]
    """The same, allowed without a reason."""


class NoKwargs(layers.Layer):
    """It can't be rebuilt from its config."""

    def __init__(self):
        super().__init__()

    def call(self, x):
        return 2.0 * x


def rules(report: lw.Report) -> list[str]:
    return [finding.rule for finding in report.findings]


@pytest.mark.parametrize("subject", [Demean, lambda: Demean(), Demean()], ids=["class", "callable", "instance"])
def test_a_subject_is_a_class_a_callable_or_an_instance(subject):
    report = lw.check(subject, X)
    assert rules(report) == ["batch-dependence"]
    assert report.findings[0].path == __file__
    assert not report.ok


def test_an_instance_that_cant_be_rebuilt_is_checked_itself_and_the_report_says_so():
    report = lw.check(NoKwargs(), X)
    assert "init-no-kwargs" in rules(report)
    assert report.remarks[0].startswith("the instance can't be rebuilt from its config (TypeError")


def test_inputs_are_arrays_specs_and_keras_inputs():
    for given in (X, lw.Spec((None, 4)), keras.Input((4,)), ops.convert_to_tensor(X)):
        assert rules(lw.check(Demean, given, select=["batch-dependence"])) == ["batch-dependence"]


def test_inputs_are_guessed_where_none_are_given():
    report = lw.check(Demean)
    assert "batch-dependence" in rules(report)
    assert any("guessed" in remark for remark in report.remarks)


def test_what_is_allowed_in_the_call_needs_a_reason():
    report = lw.check(Demean, X, allow={"batch-dependence": "the batch is one sample"})
    assert not report.findings
    assert [o.reason for o in report.outcomes if o.rule == "batch-dependence"] == ["allowed: the batch is one sample"]
    with pytest.raises(RuleError, match="is allowed without a reason"):
        lw.check(Demean, X, allow={"batch-dependence": ""})


def test_what_is_allowed_on_the_class_line_needs_a_reason():
    assert not lw.check(Intended, X).findings
    report = lw.check(Unreasoned, X)
    assert rules(report) == ["batch-dependence"]
    assert report.remarks == ("`allow[batch-dependence]` gives no reason and is not heeded",)


def test_a_batch_of_dependent_rows_can_be_said():
    assert not lw.check(Demean, X, batched=False, select=["batch-dependence"]).findings


def test_select_and_ignore_take_names_codes_and_families():
    assert {o.rule for o in lw.check(Demean, X, select=["LW312", "masks"], ignore=["mask-dropped"]).outcomes} == {
        "batch-dependence",
        "mask-ignored",
        "mask-shape-mismatch",
        "mask-arg-never-filled",
        "compute-mask-none",
    }


def test_the_process_is_left_as_it_was():
    keras.utils.set_random_seed(3)
    random.seed(5)
    np.random.seed(6)
    named, objects = keras.layers.Dense(1).name, dict(keras.saving.get_custom_objects())
    before = (random.getstate(), np.random.get_state()[1].tolist(), keras.config.dtype_policy().name)
    lw.check(Demean, X)
    assert (random.getstate(), np.random.get_state()[1].tolist(), keras.config.dtype_policy().name) == before
    assert keras.saving.get_custom_objects() == objects
    number = int(keras.layers.Dense(1).name.rpartition("_")[2])
    assert number == (int(named.rpartition("_")[2]) if "_" in named else 0) + 1, "automatic names count on"
    assert keras.config.is_traceback_filtering_enabled()
    assert keras.layers.Layer.__call__.__module__.startswith("keras")


def test_the_global_seed_goes_on_as_if_nothing_had_been_checked():
    def draw():
        return ops.convert_to_numpy(keras.random.normal((3,)))

    keras.utils.set_random_seed(3)
    draw()
    expected = draw()
    keras.utils.set_random_seed(3)
    draw()
    lw.check(Demean, X, select=["batch-dependence"])
    assert np.array_equal(draw(), expected)


@pytest.mark.parametrize("subject", [3, "Demean", None, int, [Demean]])
def test_what_is_no_layer_is_refused(subject):
    with pytest.raises(SubjectError, match="was given"):
        lw.check(subject, X)


def test_a_class_that_needs_arguments_is_refused_with_what_to_write():
    with pytest.raises(SubjectError) as caught:
        lw.check(layers.Dense, X)
    assert str(caught.value) == (
        "`Dense` needs arguments, so that `check` can't make a fresh one.\n"
        "  Expected: a callable without required arguments\n"
        "  Got:      required: units\n"
        "  Fix:      write lw.check(lambda: Dense(units=...), x)."
    )


def test_inputs_of_the_wrong_rank_are_refused():
    with pytest.raises(InputsError) as caught:
        lw.check(lambda: layers.Conv2D(3, 3), X)
    assert str(caught.value) == (
        "`test_inputs_of_the_wrong_rank_are_refused.<locals>.<lambda>` doesn't take inputs of this shape.\n"
        "  Expected: expected min_ndim=4, found ndim=2\n"
        "  Got:      (2, 4) float32\n"
        "  Fix:      give inputs as the layer takes them, batch first."
    )


def test_an_unknown_rule_is_refused_with_the_nearest_ones():
    with pytest.raises(RuleError, match="There is no rule `batch-dependance`") as caught:
        lw.check(Demean, X, ignore=["batch-dependance"])
    assert "`batch-dependence`" in str(caught.value)


def test_a_call_that_raises_is_a_problem_at_its_line_and_no_finding():
    class Fragment(layers.Layer):
        def call(self, x):
            return ops.matmul(x, self.w)

    report = lw.check(Fragment, X)
    assert report.problem is not None
    assert report.problem.kind == "call-failed"
    assert "no attribute 'w'" in report.problem.message
    assert report.problem.path == __file__
    assert not report.ok


def test_an_exception_whose_text_raises_is_an_outcome_too():
    class Rude(Exception):
        def __str__(self):
            raise ValueError("no text")

    class Raises(layers.Layer):
        def call(self, x):
            raise Rude

    report = lw.check(Raises, X)
    assert report.problem is not None
    assert "Rude" in report.problem.message


def test_the_process_is_as_before_whatever_a_layer_does(monkeypatch):
    import os
    import random

    class Rude(keras.layers.Layer):
        def call(self, x):
            os.chdir("/")
            os.environ["LAYERWRIGHT_RUDE"] = "1"
            keras.config.set_image_data_format("channels_first")
            np.seterr(all="raise")
            random.random()
            return x

    def world():
        return os.getcwd(), dict(os.environ), keras.config.image_data_format(), np.geterr(), random.getstate()

    dense = keras.layers.Dense(3)
    before = world()
    lw.check(Rude, np.ones((2, 4), "float32"))
    lw.check(dense, np.ones((2, 4), "float32"), select="config")
    assert world() == before


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"allow": "batch-dependence"}, "`allow` takes rules with reasons."),
        ({"inputs": ((None, 8),)}, "`check` was given the shape (None, 8) as an input."),
    ],
)
def test_wrong_arguments_are_told_in_four_slots(wrong, message):
    inputs = wrong.pop("inputs", (np.ones((2, 4), "float32"),))
    with pytest.raises(lw.LayerwrightError) as caught:
        lw.check(lambda: keras.layers.Dense(2), *inputs, **wrong)
    assert str(caught.value).splitlines()[0] == message
    with pytest.raises(lw.LayerwrightError, match="`Spec` takes a shape"):
        lw.Spec(3)


def test_several_arrays_in_a_tuple_are_no_shape():
    report = lw.check(
        lambda: keras.layers.Add(), (np.ones((2, 4), "float32"), np.ones((2, 4), "float32")), select=["shapes"]
    )
    assert report.problem is None
