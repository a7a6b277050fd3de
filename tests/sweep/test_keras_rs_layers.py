"""Every rule over every layer of `keras_rs.layers`: the findings are its known faults, each with the reason."""

from __future__ import annotations

import keras_rs
import pytest

from sweep.case import Case, class_name
from sweep.expected import KERAS_RS as EXPECTED
from sweep.keras_rs_layers import CASES, EXCLUDED
from sweep.sweeping import not_in_the_namespace, not_in_the_table, parameters, sweep, unfit_values


def test_every_public_layer_class_is_in_the_table_or_excluded_with_a_reason():
    assert not_in_the_table(keras_rs.layers, CASES, EXCLUDED) == []


def test_every_name_in_the_table_is_public():
    assert not_in_the_namespace(keras_rs.layers, CASES, EXCLUDED) == []


def test_every_expected_finding_names_a_case():
    assert [key for key in EXPECTED if key[0] not in CASES] == []


@pytest.mark.parametrize(("name", "case"), parameters(CASES))
def test_the_case_makes_its_class_and_gives_finite_outputs(name: str, case: Case):
    assert type(case.make()) is getattr(keras_rs.layers, class_name(name))
    assert unfit_values(case) == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "case"), parameters(CASES, sparing=True))
def test_no_error_and_no_warning_but_the_expected(name: str, case: Case, backend: str):
    sweep(name, case, backend, EXPECTED)
