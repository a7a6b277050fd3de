"""Every rule rejects its documented bad layer and accepts its documented good one, and both are run."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import keras
import pytest

import layerwright as lw
from layerwright.checks.rule import load

FOLDER = Path(__file__).parent / "rules"
RULES = load()


def check(module: ModuleType) -> lw.Report:
    """The report on an example; that a rule itself failed is only an outcome to users, and an error here."""
    report = lw.check(module.make, *module.INPUTS)
    failed = [(o.rule, o.reason) for o in report.outcomes if (o.reason or "").startswith("the rule failed")]
    assert not failed
    return report


def example(rule: str, which: str) -> ModuleType:
    """The module of a documented example, imported under a name of its own."""
    path = FOLDER / rule / f"{which}.py"
    name = f"documented_{rule.replace('-', '_')}_{which}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    if keras.backend.backend() not in getattr(module, "BACKENDS", (keras.backend.backend(),)):
        pytest.skip("the fault doesn't show on this backend")
    return module


@pytest.mark.parametrize("rule", RULES)
def test_the_bad_layer_breaks_its_own_rule_and_no_other(rule: str) -> None:
    module = example(rule, "bad")
    report = check(module)
    severity = getattr(module, "LEVEL", RULES[rule].severity)
    assert [(f.rule, f.severity) for f in report.findings] == [(rule, severity)], str(report)
    finding = report.findings[0]
    assert finding.fix
    assert finding.line is not None
    assert finding.path is not None
    assert Path(finding.path).name == "bad.py", "the finding names the user's file"


@pytest.mark.parametrize("rule", RULES)
def test_the_good_layer_breaks_no_rule(rule: str) -> None:
    module = example(rule, "good")
    report = check(module)
    assert not report.findings, str(report)
    assert report.problem is None


@pytest.mark.once
@pytest.mark.parametrize("rule", RULES)
def test_the_documented_layers_are_the_ones_that_run(rule: str) -> None:
    for section, which in (("Example", "bad"), ("Use instead", "good")):
        block = re.search(r"```python\n(.*?)```", RULES[rule].sections[section], re.DOTALL)
        assert block is not None
        documented = [ast.dump(node) for node in ast.parse(block[1]).body]
        run = [ast.dump(node) for node in ast.parse((FOLDER / rule / f"{which}.py").read_text()).body]
        assert set(documented) <= set(run), f"{which}.py of {rule} isn't what the page shows"


@pytest.mark.once
def test_every_hidden_symptom_is_a_rule() -> None:
    unknown = {(r.name, hidden) for r in RULES.values() for hidden in r.hides if hidden not in RULES}
    assert not unknown


@pytest.mark.once
def test_codes_belong_to_one_rule_and_to_the_family() -> None:
    codes = [r.code for r in RULES.values()]
    assert len(codes) == len(set(codes))
    firsts = {(r.family, r.code[2]) for r in RULES.values()}
    assert len(firsts) == len({family for family, _ in firsts})
