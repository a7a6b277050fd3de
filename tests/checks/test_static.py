"""Reading sources alone: what each detector finds and leaves, how names are told, and that nothing is run."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import child
import pytest
from checks.static_snippets import HEAD, RIGHT, WRONG

from layerwright.checks import declared
from layerwright.checks.report import Report
from layerwright.checks.rule import select
from layerwright.checks.static import DETECTORS, check_file

pytestmark = pytest.mark.once

RULES = declared.load()
# Rules whose documented layer is one that only a probe can judge; `static_snippets.WRONG` has another.
NOT_AS_DOCUMENTED = {"mask-arg-never-filled", "native-variable"}
LAYER = "class Squash({base}):\n    def call(self, x):\n        return np.tanh(x)\n"


@pytest.fixture
def read(tmp_path: Path):
    """The reports on a file with this text."""

    def read_text(text: str | bytes, name: str = "layers.py") -> list[Report]:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return check_file(path, list(RULES.values()))

    return read_text


def rules(reports: list[Report]) -> list[str]:
    """The rules of the findings, advice left out: none of these classes is registered."""
    crashed = [o for report in reports for o in report.outcomes if "failed on" in (o.reason or "")]
    assert not crashed
    return [f.rule for report in reports for f in report.findings if not RULES[f.rule].advice]


def documented(rule: str, section: str) -> str:
    block = re.search(r"```python\n(.*?)```", RULES[rule].sections[section], re.DOTALL)
    assert block is not None
    return HEAD + block[1]


def test_every_detector_is_that_of_a_declared_rule():
    assert set(DETECTORS) <= set(RULES)


@pytest.mark.parametrize("rule", [name for name in DETECTORS if name in RULES])
def test_the_documented_layer_of_a_rule_is_found_by_its_source_and_the_repaired_one_is_left(read, rule):
    bad = read(documented(rule, "Example"))
    found = {f.rule for report in bad for f in report.findings} - {"not-registered"}
    wanted = set() if rule in NOT_AS_DOCUMENTED else {rule} - {"not-registered"}
    assert found == wanted, [str(report) for report in bad]
    good = read(documented(rule, "Use instead"))
    assert [str(f) for report in good for f in report.findings] == []


def test_an_unregistered_class_is_noted(read):
    (report,) = read(documented("not-registered", "Example"))
    assert [(f.rule, f.severity) for f in report.findings] == [("not-registered", "note")]


def test_rules_whose_documented_layer_is_not_found_have_another():
    assert {rule for rule, _ in WRONG.values()} >= NOT_AS_DOCUMENTED


@pytest.mark.parametrize("sentence", WRONG)
def test_a_fault_is_found_where(read, sentence):
    rule, text = WRONG[sentence]
    reports = read(HEAD + text)
    assert set(rules(reports)) == {rule}, [str(report) for report in reports]


@pytest.mark.parametrize("sentence", RIGHT)
def test_nothing_is_found_where(read, sentence):
    reports = read(HEAD + RIGHT[sentence])
    assert reports, "no layer is seen"
    assert rules(reports) == [], [str(report) for report in reports]


def test_every_message_says_that_it_speaks_of_the_source(read):
    texts = [HEAD + text for _, text in WRONG.values()]
    texts += [documented(rule, "Example") for rule in DETECTORS if rule in RULES]
    messages = [f.message for text in texts for report in read(text) for f in report.findings]
    assert len(messages) > 90
    assert [m for m in messages if not m.startswith("The source of `")] == []


def test_a_finding_reads_as_a_whole(read, tmp_path):
    (report,) = read(HEAD + WRONG["a tensor goes through a method and a local name into NumPy"][1])
    (finding,) = report.findings
    assert str(finding) == (
        "LW301 numpy-in-call (error): The source of `Clipped._clip` hands a tensor to `numpy.clip`, which needs a "
        "value that it doesn't have while it is traced.\n"
        "  Expected: a call that can be traced\n"
        "  Got:      numpy.clip(value, 0, 1)\n"
        "  Fix:      use the function of the same name in `keras.ops`, and keep NumPy for constants.\n"
        f"  Where:    {tmp_path / 'layers.py'}:15"
    ).replace("LW301", RULES["numpy-in-call"].code)
    assert (report.subject, report.backend, report.path, report.line) == (
        "Clipped",
        "",
        str(tmp_path / "layers.py"),
        8,
    )


# --------------------------------------------------------------------------------------------- what names mean
@pytest.mark.parametrize(
    ("imports", "base"),
    [
        ("import keras", "keras.layers.Layer"),
        ("import keras", "keras.Layer"),
        ("import keras as ks", "ks.Model"),
        ("from keras import layers as L", "L.Layer"),
        ("from keras.layers import Layer", "Layer"),
        ("from keras.layers import *", "Layer"),
        ("import tensorflow as tf", "tf.keras.layers.Layer"),
        ("import tensorflow.keras.layers as tfl", "tfl.Layer"),
        ("from tensorflow import keras", "keras.layers.Layer"),
        ("from tensorflow.keras.models import Model as M", "M"),
        ("import keras\nlayers = keras.layers\nBase = layers.Layer", "Base"),
        ("try:\n    import keras\nexcept ImportError:\n    from tensorflow import keras", "keras.Layer"),
        ("import keras\nclass Parent(keras.Layer):\n    pass", "Parent"),
    ],
)
def test_a_layer_is_known_however_keras_was_imported(read, imports, base):
    reports = read(f"import numpy as np\n{imports}\n{LAYER.format(base=base)}")
    assert (reports[-1].subject, rules(reports)) == ("Squash", ["numpy-in-call"])


@pytest.mark.parametrize(
    ("imports", "base"),
    [
        ("import torch.nn as nn", "nn.Module"),
        ("import tf_keras as keras", "keras.layers.Layer"),
        ("from pydantic import BaseModel", "BaseModel"),
        ("import keras", "keras.callbacks.Callback"),
        ("import keras", "keras.losses.Loss"),
        ("", "object"),
        ("", "Layer"),
    ],
)
def test_a_class_that_is_no_layer_is_left_alone(read, imports, base):
    assert read(f"import numpy as np\n{imports}\n{LAYER.format(base=base)}") == []


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("import numpy as xp", "xp.tanh(x)"),
        ("from numpy import tanh", "tanh(x)"),
        ("import numpy\ntanh = numpy.tanh", "tanh(x)"),
    ],
)
def test_numpy_is_known_under_other_names(read, line, call):
    assert rules(read(f"import keras\n{line}\n" + LAYER.format(base="keras.Layer").replace("np.tanh(x)", call))) == [
        "numpy-in-call"
    ]


@pytest.mark.parametrize(
    "line",
    [
        "import jax.numpy as np",
        "from keras import ops as np",
        "try:\n    import jax.numpy as np\nexcept ImportError:\n    import numpy as np",
    ],
)
def test_what_is_only_called_np_is_not_numpy(read, line):
    assert rules(read(f"import keras\n{line}\n" + LAYER.format(base="keras.Layer"))) == []


def test_an_inherited_fault_is_that_of_both_classes_at_one_place(read):
    text = LAYER.format(base="keras.Layer") + "class More(Squash):\n    pass\n"
    first, second = read("import keras\nimport numpy as np\n" + text)
    assert (first.subject, second.subject) == ("Squash", "More")
    assert first.findings[0].message == second.findings[0].message
    assert first.findings[0].line == second.findings[0].line == 5


# ------------------------------------------------------------------------------------------------- whole reports
def test_symptoms_and_advice_are_withheld(read):
    (report,) = read(HEAD + WRONG["a class method of a helper makes the weight in call"][1])
    assert [f.rule for f in report.findings] == ["state-in-call"]
    assert [f.rule for f in report.withheld] == ["not-registered"]
    assert {o.status for o in report.outcomes if o.rule == "not-registered"} == {"withheld"}
    assert {o.rule for o in report.outcomes} == set(DETECTORS)


def test_a_rule_for_another_backend_is_skipped_where_the_file_names_its_framework(read):
    draw = "class Jitter(keras.Layer):\n    def call(self, x):\n        return x + keras.random.normal((3,))\n"
    assert rules(read("import keras\n" + draw)) == ["unseeded-random"]
    (report,) = read("import keras, tensorflow as tf\n" + draw)
    assert rules([report]) == []
    assert [o.reason for o in report.outcomes if o.rule == "unseeded-random"] == ["shows on jax only"]


def test_only_the_selected_rules_run(tmp_path):
    path = tmp_path / "layers.py"
    path.write_text(HEAD + LAYER.format(base="layers.Layer"))
    (report,) = check_file(path, select(["config", "numpy-in-call"], ["not-registered"], RULES))
    assert [f.rule for f in report.findings] == ["numpy-in-call"]
    assert {o.rule for o in report.outcomes if RULES[o.rule].family != "config"} == {"numpy-in-call"}


# ------------------------------------------------------------------------------------------------- nothing is run
def test_nothing_of_the_file_is_run_and_no_framework_is_imported(tmp_path):
    marker, path = tmp_path / "ran", tmp_path / "layers.py"
    touch = f"import pathlib; pathlib.Path({str(marker)!r}).touch()"
    (tmp_path / "evil.py").write_text(touch + "\n")
    (tmp_path / "keras.py").write_text(touch + "\n")
    body = f"    exec({touch!r})\n    def call(self, x, y=exec({touch!r})):\n        return np.tanh(x)\n"
    path.write_text(
        f"{touch}\nimport evil\nimport keras\nimport numpy as np\nclass Squash(keras.layers.Layer):\n{body}"
    )
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from layerwright.cli import cli\n"
        f"print(cli.main(['check', '--static', {str(path)!r}], standalone_mode=False))\n"
        "print(sorted({'keras', 'tensorflow', 'jax', 'torch', 'numpy', 'numba', 'evil'} & set(sys.modules)))"
    )
    done = child.run(code, {"PYTHONDONTWRITEBYTECODE": "1"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-2:] == ["1", "[]"]
    assert "numpy-in-call" in done.stdout
    assert not marker.exists()


# ---------------------------------------------------------------------------------------------------- odd files
@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment\n",
        "class A(A): pass\nclass B(C): pass\nclass C(B): pass\n",
        "class A(*bases, metaclass=M): pass\nclass B(make()): pass\n",
        "x = " + "(" * 90 + "1" + ")" * 90,
    ],
    ids=["empty", "comment", "circular bases", "computed bases", "nested brackets"],
)
def test_a_file_without_layers_has_no_report(read, text):
    assert read(text) == []


ODD = """
import keras
from keras.layers import Layer as B
class G(B, keras.Model):
    call = lambda self, x: x
    build = None
    def __init__(): ...
    def get_config(self): return
    async def later(self): await x
class H(B):
    @staticmethod
    def call(x): return x
    def build(*args): pass
    def compute_mask(*a, **k): pass
    def __init__(this, b, /, *a, c=1, **k): super().__init__(*a, c, **k)
class M(B):
    def call(self, x, training=None):
        match x:
            case [a, *b]: return a
            case {"k": v, **rest}: return v
            case str() as s: return s
        for self.q in x: pass
        with open(x) as (self.z, y): pass
        try: pass
        except* ValueError as e: pass
        del x
        return [*x, *[i async for i in x]] if x else (yield)
    def get_config(self):
        return {**super().get_config(), **{k: v for k, v in x}, "a": 1} | dict(b=2)
"""


def test_odd_classes_are_read_without_a_stumble(read):
    reports = read(ODD)
    assert [report.subject for report in reports] == ["G", "H", "M"]
    assert rules(reports) == ["no-super-init"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("class A(:\n    pass\n", "correct it: invalid syntax."),
        (b"x = '\xff\xfe'\n", None),
        (b"x = 1\0\n", "correct it: source code string cannot contain null bytes."),
        ("x = " + "+".join(["1"] * 100_000), None),
        ("x = " + "(" * 300 + ")" * 300, "correct it: too many nested parentheses."),
    ],
    ids=["syntax", "encoding", "null", "long sum", "deep brackets"],
)
def test_a_file_that_is_no_python_has_one_report_that_says_so(read, tmp_path, text, why):
    (report,) = read(text)
    assert report.problem is not None
    assert (report.subject, report.problem.kind) == ("layers.py", "not-read")
    assert report.problem.message == "`layers.py` isn't Python that can be read."
    assert report.problem.path == str(tmp_path / "layers.py")
    assert report.problem.help is not None
    assert why is None or report.problem.help == why
    assert report.problem.fatal


def test_a_file_that_is_not_there_has_one_report_that_says_so(tmp_path):
    (report,) = check_file(tmp_path / "gone.py", list(RULES.values()))
    assert str(report.problem) == (
        "not-read: `gone.py` can't be read: No such file or directory.\n"
        "  Fix:      name a file that can be read.\n"
        f"  Where:    {tmp_path / 'gone.py'}"
    )


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"# -*- coding: latin-1 -*-\n# caf\xe9\n"])
def test_encodings_and_line_ends_are_read_as_python_does(read, start, ending):
    text = b"import keras\nimport numpy as np\nescape = '\\d'\n" + LAYER.format(base="keras.Layer").encode()
    reports = read(start + text.replace(b"\n", ending))
    assert rules(reports) == ["numpy-in-call"]
    assert reports[0].findings[0].line == 6 + start.count(b"\n")


@pytest.mark.slow
def test_ten_thousand_lines_are_read(read):
    block = RIGHT["a config is put together in several steps"]
    count = 10_000 // (len(block.splitlines()) - 1) + 1
    text = "".join(re.sub(r"\b(Base|Slope)\b", rf"\g<1>{k}", block) for k in range(count))
    assert len(text.splitlines()) > 10_000
    reports = read(HEAD + text)
    assert len(reports) == 2 * count
    assert rules(reports) == []


# ------------------------------------------------------------------------------------------- what Keras itself has
# Found in Keras' own sources, with why it is no false alarm.
IN_KERAS = {
    ("HashedCrossing", "base-arg-not-forwarded"): "it drops `**kwargs`, so that `trainable=False` is lost",
    ("BaseImagePreprocessingLayer", "training-default-true"): "augmentation is on unless it is told otherwise",
    ("Pipeline", "training-default-true"): "augmentation is on unless it is told otherwise",
    ("TextVectorization", "direct-call-method"): "it runs its lookup layer's method `call`",
}


def _installed(package: str, *inside: str) -> list[Path]:
    from importlib.util import find_spec

    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{package} isn't installed")
    folder = Path(spec.submodule_search_locations[0], *inside)
    return [path for path in sorted(folder.rglob("*.py")) if not path.name.endswith("_test.py")]


@pytest.mark.slow
@pytest.mark.parametrize("where", [("keras", "src", "layers"), ("keras_rs", "src")], ids="/".join)
def test_the_layers_of_keras_are_read_without_a_false_alarm(where):
    files = _installed(*where)
    reports = [report for path in files for report in check_file(path, list(RULES.values()))]
    assert len(reports) > 10
    assert [report.problem for report in reports if report.problem] == []
    rules(reports)
    found = {(r.subject, f.rule) for r in reports for f in r.findings if f.rule != "not-registered"}
    assert found <= set(IN_KERAS)


def test_the_tables_of_keras_interface_are_those_of_the_installed_keras():
    # In a process of its own: the rest of this file imports no Keras.
    code = (
        "import keras\nfrom layerwright.checks import facts, internals\n"
        "names = facts.DROPOUTS | facts.ACT_IN_TRAINING | facts.WITH_WEIGHTS\n"
        "print([sorted(facts.READ_ONLY ^ internals.read_only_attributes()),\n"
        "       sorted(set(facts.KEPT_FOR) - internals.layer_attributes()),\n"
        "       sorted(n for n in names if not hasattr(keras.layers, n)),\n"
        "       [m for m in facts.LAYER_METHODS if not hasattr(keras.layers.Layer, m)],\n"
        "       [m for m in facts.MODEL_METHODS if not hasattr(keras.Model, m)]])"
    )
    assert ast.literal_eval(child.output(code)) == [[], [], [], [], []]
