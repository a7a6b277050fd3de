"""What the rules on the training flag share: who was called with it, who lost it, who cares."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import keras

from layerwright.checks.facts import SAMPLERS
from layerwright.checks.probes.modes import UNSAID, LayerCall, Ran
from layerwright.checks.rules._once import once
from layerwright.checks.walk import children

if TYPE_CHECKING:
    from layerwright.checks.lab import Lab


def said(call: LayerCall) -> bool:
    """Whether the caller passed `training` at all."""
    return call.given is not UNSAID


def takes(layer: Any) -> bool:
    """Whether the `call` of a layer has a parameter `training`."""
    return "training" in inspect.signature(layer.call).parameters


def ancestors(call: LayerCall) -> Iterator[LayerCall]:
    """The calls during which a call happened, the innermost first."""
    while call.parent is not None:
        call = call.parent
        yield call


def below(run: Ran) -> Iterator[LayerCall]:
    """Every call in a run but that of the subject itself."""
    return (call for call in run.calls if call.layer is not run.layer)


def names(layer: Any) -> dict[int, str]:
    """How the user's code reaches each layer below one, by id."""
    return {id(child): path for path, child in children(layer)}


def called(name: str | None, layer: Any) -> str:
    """A layer in words, such as "`self.drop` (Dropout)"."""
    kind = type(layer).__name__
    return f"`{name}` ({kind})" if name else f"a `{kind}`"


def top(call: LayerCall, run: Ran) -> LayerCall:
    """The call, or the one during which it happened, that the subject's own code makes."""
    for outer in ancestors(call):
        if outer.layer is run.layer:
            break
        call = outer
    return call


@once
def lost(lab: Lab) -> list[tuple[LayerCall, LayerCall | None]]:
    """The calls in a training step that should have got `training=True` and didn't.

    Each with the earlier call, if any, that was told `training=False` and left that to all that come later.
    """
    run = lab.in_training.get()
    found: list[tuple[LayerCall, LayerCall | None]] = []
    for call in below(run):
        if said(call) or call.training or not takes(call.layer):
            continue
        above = [outer for outer in ancestors(call) if outer.layer is not run.layer]
        if any(said(outer) and not outer.given for outer in above) or any(known in above for known, _ in found):
            continue
        if lab.acts(call):
            found.append((call, _switch(call, run)))
    return found


def _switch(call: LayerCall, run: Ran) -> LayerCall | None:
    earlier = run.calls[: run.calls.index(call)]
    told = [c for c in earlier if c.layer is not run.layer and said(c) and not c.given and c.at is not None]
    return told[-1] if told else None


def samples(layer: Any) -> bool:
    """Whether a class says by its name that it samples at inference on purpose."""
    return SAMPLERS.search(type(layer).__name__) is not None


def is_model(layer: Any) -> bool:
    """Whether a layer is a model that is trained by itself."""
    return isinstance(layer, keras.Model)
