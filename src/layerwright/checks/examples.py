"""`@lw.example`: how the user says what a class is constructed with, and what it is fed."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from layerwright.checks.subject import Spec, Subject
from layerwright.errors import SubjectError

MARK = "__layerwright_examples__"
T = TypeVar("T", bound=Callable[..., Any])
_UNSAID: Any = object()


@dataclasses.dataclass(frozen=True)
class Example:
    """One example of the user's: a class with its arguments, or a function that makes the layer.

    Attributes:
        target: The class or the function.
        args, kwargs: Constructor arguments of the class.
        inputs: What it is called with, positional; None where that is left to be guessed.
        name: How reports call it.
    """

    target: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    inputs: tuple[Any, ...] | None = None
    name: str = ""


@overload
def example(target: T, /) -> T: ...
@overload
def example(*args: Any, inputs: Any = ..., **kwargs: Any) -> Callable[[T], T]: ...
def example(*args: Any, inputs: Any = _UNSAID, **kwargs: Any) -> Any:
    """Say how a class is constructed and fed where it is checked; several examples of one class stack.

    Args:
        *args, **kwargs: Constructor arguments of the class. Write the function form for an argument named `inputs`.
        inputs: One input, or a list or tuple of several positional ones: arrays, `Spec`, or `(None, 8)` for float32
            of this shape. A list that the layer takes as one input stands in another list.

    On a function without arguments, write it without parentheses; the function returns a layer, or `(layer, *inputs)`.

    Example:
        >>> @example(3, inputs=(None, 8))
        ... class Lift: ...
        >>> [e.args for e in examples_of(Lift)]
        [(3,)]
    """
    if len(args) == 1 and not kwargs and inputs is _UNSAID and _is_target(args[0]):
        return _mark(args[0], Example(args[0], name=args[0].__name__))

    def decorate(target: T) -> T:
        if not _is_target(target):
            raise SubjectError(
                "`example` decorates something that is neither a class nor a function.",
                expected="a class that derives from Layer or Model, or a function that returns one",
                got=type(target).__name__,
                fix="write `@lw.example(...)` directly above `class` or `def`.",
            )
        if not isinstance(target, type) and (args or kwargs):
            raise SubjectError(
                f"`example` has constructor arguments on the function `{target.__name__}`.",
                expected="arguments on a class only",
                got=f"{len(args) + len(kwargs)} arguments",
                fix="write `@lw.example` and construct the layer in the function.",
            )
        told = None if inputs is _UNSAID else _positional(inputs)
        return _mark(target, Example(target, args, kwargs, told, target.__name__))

    return decorate


def _is_target(value: Any) -> bool:
    # A class of initializers or layers may be an argument, too: then another argument, or `inputs`, stands beside it.
    return inspect.isclass(value) or inspect.isfunction(value)


def _mark(target: T, made: Example) -> T:
    if not isinstance(target, type):
        _require_no_arguments(target)
    known = vars(target).get(MARK, ())
    setattr(target, MARK, (made, *known))
    return target


def _require_no_arguments(function: Callable[..., Any]) -> None:
    needed = [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty and p.kind < 2]
    if needed:
        name = getattr(function, "__name__", "function")
        raise SubjectError(
            f"The example `{name}` takes the argument `{needed[0]}`.",
            expected=f"def {name}():",
            got=f"def {name}({', '.join(needed)}):",
            fix="give the argument a default, or leave it out.",
        )


def examples_of(target: Any) -> tuple[Example, ...]:
    """The examples that a class or a function carries itself, numbered where several; a base class's don't count."""
    own = getattr(target, "__dict__", {}).get(MARK, ())
    # functools.wraps copies the mark onto a wrapper, with the wrapped function in it.
    mine = [dataclasses.replace(e, target=target) for e in own]
    if len(mine) == 1:
        return tuple(mine)
    return tuple(dataclasses.replace(e, name=f"{e.name} (example {n})") for n, e in enumerate(mine, 1))


def subject_of(told: Example) -> Subject:
    """What an example says, as a subject; inputs that it leaves out are guessed.

    Raises:
        SubjectError: Where the function returns something else than a layer.
        CannotGuess: Where no inputs are said, and none can be found.
    """
    from layerwright.checks import guess

    if isinstance(told.target, type):
        cls = told.target
        make: Callable[[], Any] = lambda: cls(*told.args, **told.kwargs)  # noqa: E731
        inputs = told.inputs
    else:
        make = lambda: _layer_of(told, told.target())  # noqa: E731
        first = told.target()
        cls = type(_layer_of(told, first))
        inputs = told.inputs if told.inputs is not None else _inputs_of(first)
    if inputs is not None:
        return Subject(
            told.name, make, tuple(map(to_arrays, inputs)), {}, cls, remarks=("Built and fed as its example says.",)
        )
    args, kwargs = guess.inputs_for(make)
    remark = f"Built as its example says; called with {guess.describe(args, kwargs)}, which was guessed."
    return Subject(told.name, make, args, kwargs, cls, remarks=(remark,))


def _layer_of(told: Example, returned: Any) -> Any:
    import keras

    layer = returned[0] if isinstance(returned, tuple) and returned else returned
    if not isinstance(layer, keras.layers.Layer):
        raise SubjectError(
            f"The example `{told.name}` returns something that isn't a layer.",
            expected="a layer or model, or a tuple (layer, *inputs)",
            got=type(layer).__name__,
            fix="return the layer first, then its inputs.",
        )
    return layer


def _inputs_of(returned: Any) -> tuple[Any, ...] | None:
    inputs = returned[1:] if isinstance(returned, tuple) else ()
    return inputs or None


def _positional(inputs: Any) -> tuple[Any, ...]:
    """What `inputs=` means: a shape is one input, another list or tuple several."""
    if isinstance(inputs, list | tuple) and not _is_shape(inputs):
        return tuple(inputs)
    return (inputs,)


def _is_shape(value: Any) -> bool:
    return isinstance(value, tuple) and all(d is None or type(d) is int for d in value)


def to_arrays(inputs: Any) -> Any:
    """Specs, shapes and Keras tensors as arrays, in the same structure; everything else as it is."""
    if _is_shape(inputs):
        return Spec(inputs).array()
    if isinstance(inputs, Spec):
        return inputs.array()
    if isinstance(inputs, dict):
        return {key: to_arrays(value) for key, value in inputs.items()}
    if isinstance(inputs, list | tuple):
        return type(inputs)(to_arrays(value) for value in inputs)
    if type(inputs).__name__ == "KerasTensor":
        return Spec(tuple(inputs.shape), str(inputs.dtype)).array()
    return inputs
