"""Inputs as text: what is written is what is read, and everything else is refused in the four slots."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layerwright.checks.subject import Spec
from layerwright.checks.subject_text import DTYPES, parse_spec
from layerwright.errors import InputsError

pytestmark = pytest.mark.once

EXPECTED = "a shape with the batch axis first, and a dtype: (None, 32):float32"
shapes = st.lists(st.none() | st.integers(0, 40), max_size=5).map(tuple)
spaces = st.sampled_from(["", " ", "  "])


@given(shapes, st.sampled_from(DTYPES), spaces)
def test_a_shape_and_dtype_are_read_as_written(shape: tuple[int | None, ...], dtype: str, space: str) -> None:
    assert parse_spec(f"{space}{shape}{space}:{space}{dtype}{space}") == Spec(shape, dtype)


@given(shapes)
def test_float32_is_meant_where_no_dtype_is_said(shape: tuple[int | None, ...]) -> None:
    assert parse_spec(str(shape)) == Spec(shape, "float32")


@given(shapes, st.sampled_from([d for d in DTYPES if "int" in d]), st.integers(1, 100000), spaces)
def test_a_bound_of_whole_numbers_is_read(shape: tuple[int | None, ...], dtype: str, below: int, space: str) -> None:
    assert parse_spec(f"{shape}:{dtype}{space}<{space}{below}") == Spec(shape, dtype, below)


@given(st.text(max_size=30))
def test_any_other_text_is_refused_with_the_expected_form(text: str) -> None:
    try:
        found = parse_spec(text)
    except InputsError as error:
        message = str(error)
    else:
        message = ""
        assert all(d is None or d >= 0 for d in found.shape)
        assert found.dtype in DTYPES
    assert not message or (text in message and "  Expected: " in message and "  Fix:      " in message)


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("None, 32", 'write it in parentheses, for example "(None, 32):float32".'),
        ("[32]:float32", 'write it in parentheses, for example "(32,):float32".'),
        ("float32", 'write it in parentheses, for example "(None, 32):float32".'),
        ("(None)", 'a shape of one axis has a comma: "(None,)".'),
        ("(7):int32", 'a shape of one axis has a comma: "(7,)".'),
        ("(None, -1)", "write only whole numbers from 0 and None in the shape."),
        ("(None, 2.5)", "write only whole numbers from 0 and None in the shape."),
        ("(None, True)", "write only whole numbers from 0 and None in the shape."),
        ("(batch, 3)", "write only whole numbers and None in the shape."),
        ("(None, 3):float32<5", "write `<` only after a dtype of whole numbers, and a number from 1 after it."),
        ("(None, 3):int32<0", "write `<` only after a dtype of whole numbers, and a number from 1 after it."),
    ],
)
def test_the_message_says_how_to_write_it(text: str, fix: str) -> None:
    with pytest.raises(InputsError) as caught:
        parse_spec(text)
    assert str(caught.value) == (
        f"The inputs `{text}` can't be read.\n  Expected: {EXPECTED}\n  Got:      {text}\n  Fix:      {fix}"
    )


def test_a_misspelt_dtype_names_the_nearest() -> None:
    with pytest.raises(InputsError) as caught:
        parse_spec("(None, 3):flot32")
    assert str(caught.value) == (
        "The dtype `flot32` of the inputs `(None, 3):flot32` isn't one that layerwright can feed.\n"
        f"  Expected: {', '.join(DTYPES)}\n"
        "  Got:      flot32\n"
        "  Fix:      write `float32` or `float64` or `float16`."
    )


def test_inputs_that_fit_into_no_memory_are_refused():
    with pytest.raises(InputsError, match="are too large to be made"):
        parse_spec("(None, 99999999999999)")
