"""What the engines spare: kernels of TensorFlow over a seed, and JAX compiling one program again and again."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from layerwright.checks import compilations, engines, internals


def draws(draw) -> list[float]:
    internals.seed_everything(3)
    return [float(draw()) for _ in range(3)]


@pytest.mark.backend("tensorflow")
@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize("traced", [False, True])
def test_random_numbers_of_tensorflow_begin_anew_with_every_seed(seed, traced):
    import tensorflow as tf

    def draw():
        return tf.random.normal((), seed=seed)

    function = tf.function(draw) if traced else draw
    first = draws(function)
    assert len(set(first)) == 3
    assert draws(function) == first
    assert draws(function) == first, "and where nothing was traced or seeded in between"


@pytest.mark.backend("tensorflow")
def test_a_seed_leaves_tensorflow_its_kernels_where_nothing_drew(monkeypatch):
    import tensorflow as tf

    from layerwright.checks.engines import tensorflow as engine

    cleared = []
    real = tf.random.set_seed
    monkeypatch.setattr(engine._RANDOM, "may_draw", False)  # other tests trace what draws
    monkeypatch.setattr(tf.random, "set_seed", lambda seed: (cleared.append(seed), real(seed)))
    layer = keras.layers.Dropout(0.5)
    internals.seed_everything(1)
    cleared.clear()
    layer(np.ones((2, 3), "float32"), training=True)
    internals.seed_everything(2)
    assert cleared == [], "a draw of Keras is stateless"
    tf.random.uniform(())
    internals.seed_everything(3)
    internals.seed_everything(4)
    assert cleared == [3]


@pytest.mark.backend("jax")
@pytest.mark.parametrize("own", [False, True])
def test_jax_compiles_a_program_once_in_a_check_and_keeps_its_settings(tmp_path, monkeypatch, own):
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    found = {name: getattr(jax.config, name) for name in names}
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    monkeypatch.setattr(compilations, "folder", lambda: str(ours))
    try:
        jax.config.update(names[0], str(theirs) if own else None)
        compilation_cache.reset_cache()
        before = {name: getattr(jax.config, name) for name in names}
        with engines.current().kept():
            jax.jit(lambda x: x * 17 + 3)(1.0)
            count = len(list(ours.glob("*-cache")))
            jax.jit(lambda x: x * 17 + 3)(1.0)
            assert len(list(ours.glob("*-cache"))) == count
        assert (count > 0) is not own, "a folder that the user chose is used in place of ours"
        assert {name: getattr(jax.config, name) for name in names} == before
    finally:
        for name, value in found.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()
