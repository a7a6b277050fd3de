from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from layerwright.checks.lab import Lab
from layerwright.checks.probes.bench import SEED
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._pairs import Pair, array, differ, pairs
from layerwright.checks.source import Source


@rule("LW119", "warning", hides=("reload-differs", "state-not-saved"))
def random_table_in_init(lab: Lab) -> Iterator[Finding]:
    """A random tensor is made in the constructor and kept in a plain attribute.

    ## What it does
    Constructs and builds the layer under two seeds and compares the arrays and tensors that aren't weights.

    ## Why is this bad
    The table isn't a weight: it isn't trained, and it isn't saved. A loaded model, and every worker process,
    draws another one and computes something else.

    ## Example
    ```python
    class Project(keras.layers.Layer):
        def __init__(self, size=3, **kwargs):
            super().__init__(**kwargs)
            self.table = np.random.normal(size=(4, size)).astype("float32")

        def call(self, x):
            return ops.matmul(x, ops.cast(self.table, x.dtype))
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_random_table_in_init")
    class Project(keras.layers.Layer):
        def __init__(self, size=3, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.size = size

        def build(self, input_shape):
            shape = (input_shape[-1], self.size)
            self.table = self.add_weight(shape=shape, initializer="random_normal", trainable=False, name="table")

        def call(self, x):
            return ops.matmul(ops.cast(x, self.compute_dtype), self.table)

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], self.size)
    ```

    ## Source
    Articles on custom layers, whose `BadLayer` holds `tf.random.normal(...)`.
    """
    # Three, since a short permutation may come out the same twice.
    first, *others = (lab.attempt(partial(_built, lab, seed)).get() for seed in (SEED, SEED + 4, SEED + 9))
    shown: set[tuple[int, str]] = set()
    for pair in (pair for other in others for pair in pairs(first, other)):
        key = (id(pair.owner), pair.attribute)
        if key in shown or not _is_random(pair) or _was_passed(lab, pair) or _comes_back(lab, pair):
            continue
        shown.add(key)
        source = Source(pair.owner, lab.home)
        stores = [(f, node) for f, target, node in source.stores("__init__", "build") if target.attr == pair.attribute]
        yield lab.finding(
            f"`self.{pair.path}` of `{source.cls.__name__}` is random and no weight, so that it isn't saved.",
            expected="a weight, which is saved, or the same values in every process",
            got=f"other values of shape {getattr(array(pair.first), 'shape', ())} at each construction",
            fix=f"make `{pair.attribute}` with self.add_weight(..., trainable=False) in `build`, or from a fixed seed.",
            at=stores[0] if stores else source,
        )


def _built(lab: Lab, seed: int) -> Any:
    layer = lab.fresh(seed)
    lab.attempt(lambda: lab.build(layer))
    return layer


def _is_random(pair: Pair) -> bool:
    one, two = array(pair.first), array(pair.second)
    return one is not None and two is not None and one.size > 1 and one.shape == two.shape and differ(one, two)


def _was_passed(lab: Lab, pair: Pair) -> bool:
    """Whether the caller made the values."""
    values = list((lab.arguments() or {}).values())
    return any(array(v) is not None and not differ(v, pair.first) for v in values)


def _comes_back(lab: Lab, pair: Pair) -> bool:
    """Whether a saved layer has its values again, in another way."""
    if lab.saved.value is not None:
        found = [p for p in pairs(lab.saved.get().layer, lab.saved.get().loaded) if p.path == pair.path]
    elif lab.revived.value is not None and lab.revived.get().copy is not None:
        found = [p for p in pairs(lab.described.get(), lab.revived.get().copy) if p.path == pair.path]
    else:
        return False
    return bool(found) and array(found[0].second) is not None and not differ(found[0].first, found[0].second)
