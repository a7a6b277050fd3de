"""The rules as they are read without importing them are the rules as they are when they are imported."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import child
import pytest

from layerwright.checks import declared
from layerwright.errors import RuleError


@pytest.mark.once
def test_rules_read_from_their_files_are_those_that_their_imports_register():
    from layerwright.checks import rule

    def told(rules):
        names = [field.name for field in dataclasses.fields(rule.Rule) if field.name != "check"]
        return [{name: getattr(one, name) for name in names} for one in rules.values()]

    assert told(declared.load()) == told(rule.load())


@pytest.mark.once
def test_reading_the_rules_imports_neither_keras_nor_a_framework():
    code = (
        "import sys\nfrom layerwright.checks import declared\nassert declared.load()\n"
        "print(sorted({'keras', 'tensorflow', 'jax', 'torch', 'numba'} & set(sys.modules)))"
    )
    assert child.output(code) == "[]"


@pytest.fixture
def family(tmp_path: Path) -> Path:
    (tmp_path / "masks").mkdir()
    return tmp_path / "masks"


SECTIONS = "\n\n".join(
    f"    ## {s}\n    Text." for s in ("What it does", "Why is this bad", "Example", "Use instead", "Source")
)


def read(file: Path, declaration: str):
    file.write_text(f'{declaration}\ndef mask_lost(lab):\n    """A mask is lost.\n\n{SECTIONS}\n    """\n')
    return list(declared._declared(file))


@pytest.mark.once
def test_a_declaration_is_read_with_all_its_arguments(family):
    said = '@rule("LW699", "note", hides=["a"], advice=True, backends=("jax",))'
    (rule,) = read(family / "mask_lost.py", said)
    assert (rule.name, rule.code, rule.family, rule.severity) == ("mask-lost", "LW699", "masks", "note")
    assert (rule.hides, rule.advice, rule.backends) == (("a",), True, ("jax",))
    assert (rule.title, rule.sections["Example"]) == ("A mask is lost.", "Text.")


@pytest.mark.once
def test_a_declaration_may_name_constants_of_its_file(family):
    said = 'A = ("a", "b")\nB = unknown()\n@rule("LW699", "note", hides=(*A, "c"))'
    (rule,) = read(family / "mask_lost.py", said)
    assert rule.hides == ("a", "b", "c")


@pytest.mark.once
def test_a_declaration_may_name_constants_that_its_family_shares(family):
    said = 'from layerwright.checks.rules.models._cells import SYMPTOMS as S\n@rule("LW699", "note", hides=S)'
    (rule,) = read(family / "mask_lost.py", said)
    from layerwright.checks.rules.models._cells import SYMPTOMS

    assert rule.hides == SYMPTOMS


@pytest.mark.once
def test_a_function_under_another_decorator_is_no_rule(family):
    assert read(family / "mask_lost.py", "@cache") == []


@pytest.mark.once
def test_a_declaration_that_is_computed_is_refused_with_its_place(family):
    with pytest.raises(RuleError) as error:
        read(family / "mask_lost.py", '@rule("LW699", SEVERITY)')
    assert str(error.value) == (
        "The declaration of rule `mask-lost` can't be read without running it.\n"
        '  Expected: literals and constants of the file: @rule("LW101", "error", hides=("reload-differs",))\n'
        "  Got:      rule('LW699', SEVERITY)\n"
        "  Fix:      write every argument of `@rule` as a literal, or as a constant of the file that is one.\n"
        "  Where:    mask_lost.py:1"
    )
