"""`@lw.example` on classes and functions: what it keeps, what it refuses, and the subject that it makes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import keras
import numpy as np
import pytest

import layerwright as lw
from layerwright.checks.examples import examples_of, subject_of, to_arrays
from layerwright.checks.guess import CannotGuess
from layerwright.errors import SubjectError


class Lift(keras.layers.Layer):
    def __init__(self, units: int, activation: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dense = keras.layers.Dense(units, activation)

    def call(self, x: Any) -> Any:
        return self.dense(x)


class Merge(keras.layers.Layer):
    def call(self, x: Any, y: Any) -> Any:
        return x + y


def test_a_class_is_built_with_the_arguments_and_fed_with_the_inputs() -> None:
    marked = lw.example(3, activation="relu", inputs=lw.Spec((None, 8)))(Lift)
    assert marked is Lift
    (told,) = examples_of(Lift)
    subject = subject_of(told)
    del Lift.__layerwright_examples__  # type: ignore[attr-defined]
    assert (subject.name, subject.cls) == ("Lift", Lift)
    assert [(x.shape, x.dtype.name) for x in subject.args] == [((2, 8), "float32")]
    assert subject.remarks == ("Built and fed as its example says.",)
    first, second = subject.make(), subject.make()
    assert first is not second
    assert first.dense.units == 3
    assert first(*subject.args).shape == (2, 3)


def test_inputs_that_are_not_said_are_guessed_and_the_remark_says_so() -> None:
    @lw.example(4)
    class Local(Lift):
        pass

    subject = subject_of(examples_of(Local)[0])
    assert subject.args[0].shape == (2, 8)
    assert subject.remarks == ("Built as its example says; called with float32 (2, 8), which was guessed.",)


def test_several_examples_of_one_class_are_numbered_from_the_top() -> None:
    @lw.example(1)
    @lw.example(2)
    class Local(Lift):
        pass

    assert [(e.name, e.args) for e in examples_of(Local)] == [("Local (example 1)", (1,)), ("Local (example 2)", (2,))]


def test_an_example_of_a_base_is_not_one_of_its_subclasses() -> None:
    @lw.example(1)
    class Local(Lift):
        pass

    class Derived(Local):
        pass

    assert examples_of(Derived) == ()
    assert len(examples_of(Local)) == 1


def test_a_bare_example_of_a_class_needs_no_argument() -> None:
    @lw.example
    class Local(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return x * 2.0

    (told,) = examples_of(Local)
    assert subject_of(told).make()(np.ones((2, 3), "float32")).shape == (2, 3)


def test_a_function_makes_the_layer_and_its_inputs() -> None:
    @lw.example
    def merged() -> Any:
        return Merge(), np.ones((2, 4), "float32"), np.zeros((2, 4), "float32")

    subject = subject_of(examples_of(merged)[0])
    assert (subject.name, subject.cls) == ("merged", Merge)
    assert len(subject.args) == 2
    assert isinstance(subject.make(), Merge)
    assert subject.make() is not subject.make()


def test_a_function_may_leave_the_inputs_out() -> None:
    @lw.example
    def lifted() -> Any:
        return Lift(5)

    subject = subject_of(examples_of(lifted)[0])
    assert subject.make()(*subject.args).shape == (2, 5)


def test_inputs_on_the_decorator_of_a_function_are_used() -> None:
    @lw.example(inputs=[(None, 3), (None, 3)])
    def merged() -> Any:
        return Merge()

    subject = subject_of(examples_of(merged)[0])
    assert [x.shape for x in subject.args] == [(2, 3), (2, 3)]


def test_a_list_in_a_list_is_one_input() -> None:
    @lw.example(inputs=[[(None, 3), (None, 3)]])
    def added() -> Any:
        return keras.layers.Add()

    (inputs,) = subject_of(examples_of(added)[0]).args
    assert [x.shape for x in inputs] == [(2, 3), (2, 3)]


def test_specs_shapes_and_keras_tensors_become_arrays_in_their_structure() -> None:
    given = {
        "a": (None, 3),
        "b": [lw.Spec((None,), "int32"), keras.Input((4,), dtype="int32")],
        "c": np.ones(2),
        "d": 7,
    }
    made = to_arrays(given)
    assert made["a"].shape == (2, 3)
    assert [(x.shape, x.dtype.name) for x in made["b"]] == [((2,), "int32"), ((2, 4), "int32")]
    assert made["c"] is given["c"]
    assert made["d"] == 7


def test_an_example_on_something_else_is_refused() -> None:
    with pytest.raises(SubjectError) as caught:
        lw.example(3)(Lift(3))
    assert str(caught.value) == (
        "`example` decorates something that is neither a class nor a function.\n"
        "  Expected: a class that derives from Layer or Model, or a function that returns one\n"
        "  Got:      Lift\n"
        "  Fix:      write `@lw.example(...)` directly above `class` or `def`."
    )


def test_constructor_arguments_on_a_function_are_refused() -> None:
    with pytest.raises(SubjectError) as caught:

        @lw.example(3, units=4)
        def lifted() -> Any:
            return Lift(5)

    assert str(caught.value) == (
        "`example` has constructor arguments on the function `lifted`.\n"
        "  Expected: arguments on a class only\n"
        "  Got:      2 arguments\n"
        "  Fix:      write `@lw.example` and construct the layer in the function."
    )


def test_a_function_that_needs_an_argument_is_refused() -> None:
    with pytest.raises(SubjectError) as caught:

        @lw.example
        def lifted(units: int, name: str = "x") -> Any:
            return Lift(units, name=name)

    assert str(caught.value) == (
        "The example `lifted` takes the argument `units`.\n"
        "  Expected: def lifted():\n"
        "  Got:      def lifted(units):\n"
        "  Fix:      give the argument a default, or leave it out."
    )


def test_a_function_that_returns_no_layer_is_refused_when_it_is_used() -> None:
    @lw.example
    def nothing() -> Any:
        return np.ones(3)

    with pytest.raises(SubjectError) as caught:
        subject_of(examples_of(nothing)[0])
    assert str(caught.value) == (
        "The example `nothing` returns something that isn't a layer.\n"
        "  Expected: a layer or model, or a tuple (layer, *inputs)\n"
        "  Got:      ndarray\n"
        "  Fix:      return the layer first, then its inputs."
    )


def test_an_example_whose_inputs_cannot_be_found_says_so() -> None:
    @lw.example
    class Picky(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            if x.shape[1:] != (7, 11, 13):
                raise ValueError("only (7, 11, 13)")
            return x

    with pytest.raises(CannotGuess) as caught:
        subject_of(examples_of(Picky)[0])
    assert caught.value.problem.kind == "not-fed"


def test_marking_imports_neither_keras_nor_a_framework() -> None:
    code = (
        "import sys, layerwright as lw\n"
        "@lw.example(3, inputs=lw.Spec((None, 8)))\n"
        "class A: pass\n"
        "@lw.example\n"
        "def b(): ...\n"
        "print(sorted({'keras', 'tensorflow', 'jax', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
