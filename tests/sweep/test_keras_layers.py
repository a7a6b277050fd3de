"""Every rule over every layer of `keras.layers`: nothing is found that isn't expected, for a reason that is written."""

from __future__ import annotations

import keras
import pytest

from sweep.case import Case, class_name
from sweep.expected import KERAS as EXPECTED
from sweep.keras_layers import CASES, EXCLUDED
from sweep.sweeping import not_in_the_namespace, not_in_the_table, parameters, sweep, unfit_values

# What the frameworks say of Keras' own code: of int64 on JAX, which has none by default, and of `.T` on torch.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Explicitly requested dtype int64:UserWarning"),
    pytest.mark.filterwarnings("ignore:Tensor.T is deprecated on 0-D tensors:UserWarning"),
]


def test_every_public_layer_class_is_in_the_table_or_excluded_with_a_reason():
    assert not_in_the_table(keras.layers, CASES, EXCLUDED) == []


def test_every_name_in_the_table_is_public():
    assert not_in_the_namespace(keras.layers, CASES, EXCLUDED) == []


def test_no_class_is_both_in_the_table_and_excluded():
    assert {class_name(name) for name in CASES} & set(EXCLUDED) == set()


def test_every_expected_finding_names_a_case_and_a_backend_where_it_runs():
    unknown = [key for key in EXPECTED if key[0] not in CASES]
    assert unknown == []
    elsewhere = [key for key, entry in EXPECTED.items() if not set(entry.backends) <= set(CASES[key[0]].backends)]
    assert elsewhere == []


@pytest.mark.parametrize(("name", "case"), parameters(CASES))
def test_the_case_makes_its_class_and_gives_finite_outputs(name: str, case: Case):
    assert type(case.make()) is getattr(keras.layers, class_name(name))
    assert unfit_values(case) == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "case"), parameters(CASES, sparing=True))
def test_no_error_and_no_warning_but_the_expected(name: str, case: Case, backend: str):
    sweep(name, case, backend, EXPECTED)
