from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath

import keras

from layerwright.checks import internals
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.source import File, Function, keyword, read, text_of

WHOLE = (".keras", ".h5", ".hdf5")
WEIGHTS = (".weights.h5",)


@rule("LW122", "note")
def unsupported_save_format(lab: Lab) -> Iterator[Finding]:
    """A model is saved under a path that Keras refuses.

    ## What it does
    Reads the file of a model's class, and the methods of a layer's class, for `save`, `save_weights`,
    `save_model` and `ModelCheckpoint` with a path that is written out.

    ## Why is this bad
    Keras 3 saves to `.keras`, and weights to `.weights.h5`. A path without a suffix, once a folder in the
    SavedModel format, raises, and so does `.h5` for a subclassed model: often after hours of training.

    ## Example
    ```python
    @keras.saving.register_keras_serializable(package="docs_unsaved_format")
    class Classifier(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.scores = layers.Dense(3, dtype=self.dtype_policy)

        def build(self, input_shape):
            self.scores.build(input_shape)

        def call(self, x):
            return self.scores(ops.cast(x, self.compute_dtype))

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], 3)

        def keep(self):
            self.save("classifier")
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_unsupported_save_format")
    class Classifier(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.scores = layers.Dense(3, dtype=self.dtype_policy)

        def build(self, input_shape):
            self.scores.build(input_shape)

        def call(self, x):
            return self.scores(ops.cast(x, self.compute_dtype))

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], 3)

        def keep(self):
            self.save("classifier.keras")
    ```

    ## Known limits
    Paths that are put together while the program runs aren't read.

    ## Source
    `keras.Model.save`.
    """
    if not lab.components:
        return
    component = lab.components[0]
    model = isinstance(component.layer, keras.Model)
    h5 = not model or internals.is_functional(component.layer) or isinstance(component.layer, keras.Sequential)
    file = read(component.source.path or "")
    if file is None or not lab.home(file.path) or component.source.node is None:
        return
    for node in ast.walk(file.tree if model else component.source.node):
        if isinstance(node, ast.Call):
            path = _path(node, component.source.cls)
            if path is not None and not _is_taken(node, path, h5):
                wanted = WEIGHTS[0] if _saves_weights(node) else ".keras"
                yield lab.finding(
                    f'`{text_of(node.func)}` is given "{path}", which Keras doesn\'t save to.',
                    expected=f"a path that ends in {wanted}",
                    got=f'"{path}"' + (" for a subclassed model" if path.endswith((".h5", ".hdf5")) else ""),
                    fix=f'write "{PurePosixPath(path).stem or "model"}{wanted}".',
                    at=(_function(file, node), node),
                )


def _path(call: ast.Call, cls: type) -> str | None:
    """The path that a call saves a model to, where it is written out."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name == "ModelCheckpoint":
        value = call.args[0] if call.args else keyword(call, "filepath")
    elif name in ("save", "save_weights") and isinstance(call.func, ast.Attribute):
        value = call.args[0] if len(call.args) >= 1 else keyword(call, "filepath")
        if name == "save" and not _is_model(call.func.value, cls):
            return None
    elif name == "save_model":
        value = call.args[1] if len(call.args) >= 2 else keyword(call, "filepath")
    else:
        return None
    return None if value is None else _tail(value)


def _tail(node: ast.expr) -> str | None:
    """The end of a path, as far as it is written out: `os.path.join(folder, "m.h5")`, `folder / "m"`, `f"{name}.h5"`."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Call) and node.args:
        joins = getattr(node.func, "attr", getattr(node.func, "id", "")) in ("join", "joinpath", "str", "Path")
        return _tail(node.args[-1]) if joins else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return _tail(node.right)
    last = node.values[-1] if isinstance(node, ast.JoinedStr) and node.values else None
    last = node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) else last
    end = _tail(last) if last is not None else None
    # Without a dot or a slash in it, the end of a text doesn't say whether there is a suffix.
    return end if end is not None and ("." in end or "/" in end) else None


def _is_model(node: ast.AST, cls: type) -> bool:
    """Whether what `save` is called on can be a model: `self`, or a variable that is called one."""
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", getattr(node.func, "attr", "")) == cls.__name__
    name = getattr(node, "id", getattr(node, "attr", ""))
    if name in ("saved_model", "models", "tf", "keras"):
        return False
    return (
        (name == "self" and issubclass(cls, keras.Model)) or "model" in name.lower() or name in ("m", "net", "network")
    )


def _saves_weights(call: ast.Call) -> bool:
    only = keyword(call, "save_weights_only")
    name = getattr(call.func, "attr", "")
    return name == "save_weights" or (isinstance(only, ast.Constant) and only.value is True)


def _is_taken(call: ast.Call, path: str, h5: bool) -> bool:
    if _saves_weights(call):
        return path.endswith(WEIGHTS)
    return path.endswith(".keras") or (h5 and path.endswith(WHOLE))


def _function(file: File, node: ast.AST) -> Function:
    """The function around a node; at the top of a file, one that stands for it."""
    inner: ast.AST | None = node
    while inner is not None and not isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        inner = file.parents.get(inner)
    return Function(inner or ast.parse("lambda: 0", mode="eval").body, file)  # type: ignore[arg-type]
