"""Signatures: what is read, what is refused, which shapes follow; NumPy is the reference."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layerwright.errors import ShapeError, SignatureError
from layerwright.kernels.signature import Signature, parse, resolve

pytestmark = pytest.mark.once

dims = st.lists(st.sampled_from(["a", "b", "n", "k2", "3", "11"]), max_size=3)
spaces = st.sampled_from(["", " ", "  "])


@given(st.lists(dims, min_size=1, max_size=4), spaces)
def test_a_signature_is_read_as_it_is_written(inputs, space):
    side = ",".join("(" + f",{space}".join(names) + ")" for names in inputs)
    read = parse(f"{side}{space}->{space}{side}")
    assert (
        read.inputs == read.outputs == tuple(tuple(int(d) if d.isdecimal() else d for d in names) for names in inputs)
    )
    assert parse(str(read)) == read


@given(st.text(alphabet="()->,nt3 ", max_size=20))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(SignatureError):
        assert str(parse(text)).replace(" ", "")


REFUSED = {
    "(t)": (
        "The signature `(t)` can't be read.\n"
        "  Expected: a signature such as (t),()->(t)\n"
        "  Got:      '(t)'\n"
        "  Fix:      write the dimensions of each operand in parentheses, inputs and outputs parted by `->`."
    ),
    "(t)->(n)": (
        "The dimension `n` of an output of `(t)->(n)` is no dimension of an input.\n"
        "  Expected: a name among the inputs' dimensions, or a number\n"
        "  Got:      n\n"
        "  Fix:      pass an array whose size it is, or write the size as a number."
    ),
    "(0)->()": (
        "The signature `(0)->()` can't be read.\n"
        "  Expected: a signature such as (t),()->(t)\n"
        "  Got:      '(0)->()'\n"
        "  Fix:      write a name or a number above 0 for the dimension, not `0`."
    ),
    "(t)->": (
        "The signature `(t)->` can't be read.\n"
        "  Expected: a signature such as (t),()->(t)\n"
        "  Got:      '(t)->'\n"
        "  Fix:      name at least one output after `->`."
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_signature_is_told_in_four_slots(text):
    with pytest.raises(SignatureError) as caught:
        parse(text)
    assert str(caught.value) == REFUSED[text]


shapes = st.lists(st.sampled_from([1, 2, 3]), max_size=3).map(tuple)


@given(st.lists(shapes, min_size=1, max_size=3))
def test_leading_axes_broadcast_as_in_numpy(leads):
    signature = Signature((("n",),) * len(leads), (("n",),))
    given_shapes = [(*lead, 5) for lead in leads]
    names = [f"x{n}" for n in range(len(leads))]
    try:
        wanted = np.broadcast_shapes(*leads)
    except ValueError:
        with pytest.raises(ShapeError):
            resolve(signature, given_shapes, "f", names)
    else:
        assert resolve(signature, given_shapes, "f", names) == [(*wanted, 5)]


@given(st.lists(shapes, min_size=1, max_size=3), st.data())
def test_a_size_that_is_not_known_never_contradicts_the_known_one(leads, data):
    signature = Signature((("n",),) * len(leads), (("n",),))
    names = [f"x{n}" for n in range(len(leads))]
    try:
        known = resolve(signature, [(*lead, 5) for lead in leads], "f", names)[0]
    except ShapeError:
        return
    opened = [tuple(data.draw(st.sampled_from([size, None])) for size in (*lead, 5)) for lead in leads]
    found = resolve(signature, opened, "f", names)[0]
    assert len(found) == len(known)
    assert all(a is None or a == b for a, b in zip(found, known, strict=True))


MISFITS = {
    ((3,), (2,)): "`y` of `f` has 2 along `n`, which is 3.",
    ((), (2,)): "`x` of `f` has 0 axes and needs 1.",
    ((2, 3), (4, 3)): "`y` of `f` doesn't broadcast with those before it.",
}


@pytest.mark.parametrize("given_shapes", MISFITS)
def test_shapes_that_do_not_fit_are_told_with_the_argument(given_shapes):
    with pytest.raises(ShapeError) as caught:
        resolve(parse("(n),(n)->()"), given_shapes, "f", ["x", "y"])
    assert str(caught.value) == (
        f"{MISFITS[given_shapes]}\n"
        "  Expected: shapes that fit (n),(n)->(), with leading axes that broadcast\n"
        f"  Got:      {given_shapes[0]}, {given_shapes[1]}\n"
        "  Fix:      put the core axes last, and add axes of size 1 where an input has fewer leading ones."
    )


def test_the_gradient_of_a_signature_has_inputs_outputs_and_cotangents():
    gradient = parse("(t),()->(t),()").gradient()
    assert str(gradient) == "(t),(),(t),(),(t),()->(t),()"
    assert gradient.scalars == {1}  # outputs and cotangents of core shape () arrive as arrays
