"""Checks: whether a layer or model is right, before it is trained."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from layerwright.errors import InputsError, RuleError, SubjectError

if TYPE_CHECKING:
    from layerwright.checks.report import Report
    from layerwright.checks.subject import Subject


def check(
    subject: Any,
    *inputs: Any,
    select: Iterable[str] | None = None,
    ignore: Iterable[str] | None = None,
    allow: Mapping[str, str] | None = None,
    batched: bool = True,
    fresh_process: bool = False,
    **keyword_inputs: Any,
) -> Report:
    """Check a layer or model under every rule, on the backend that Keras runs on.

    The user's code is run: constructed, called, traced, saved, loaded and differentiated, several times.
    The dtype policy, seeds, registries and random numbers are left as they were.

    Args:
        subject: A callable without arguments that makes a fresh layer or model, a class that needs no
            argument, or an instance (rebuilt from its config for every probe, which the report says).
        *inputs: What the layer is called with, batch first: arrays or tensors, `lw.Spec((None, 32))`,
            `keras.Input((32,))`; lists, tuples and dicts as the layer takes them. Without any, ranks and
            dtypes are searched.
        select: Names, codes or families of the rules to run; all of them where it is left out.
        ignore: Names, codes or families of rules not to run.
        allow: Rules whose findings are intended, each with the reason, such as
            `{"batch-dependence": "BatchNorm on purpose"}`.
        batched: Whether axis 0 of the inputs is a batch of independent rows.
        fresh_process: Whether the saved layer is loaded in another process too, which the command line always
            does. The first time, that process has to start (some seconds).
        **keyword_inputs: Further arguments of the call, by name.

    Returns:
        A `Report`: `report.findings`, the worst first, and an outcome for every rule.

    Raises:
        SubjectError: The subject is not a layer, a model, or a way to make one.
        InputsError: No inputs were given and none could be found.
        RuleError: A rule is named that doesn't exist.
        BackendError: No framework is installed.

    Example:
        >>> import keras, layerwright as lw
        >>> lw.check(lambda: keras.layers.Dense(3), lw.Spec((None, 8))).ok
        True
    """
    from layerwright import backends

    backends.running()
    from layerwright.checks import rule, runner

    rules = rule.select(_words(select), _words(ignore))
    _require_no_shapes(inputs, keyword_inputs)
    if allow is not None and not isinstance(allow, Mapping):
        raise RuleError(
            "`allow` takes rules with reasons.",
            expected="a dict of names and reasons",
            got=repr(allow),
            fix='write for example allow={"batch-dependence": "batch statistics on purpose"}.',
        )
    allowed = {rule.find(name).name: reason for name, reason in (allow or {}).items()}
    for name, reason in allowed.items():
        if not (isinstance(reason, str) and reason.strip()):
            raise RuleError(
                f"`{name}` is allowed without a reason.",
                expected="the reason why its findings are intended, as text",
                got=repr(reason),
                fix=f'write allow={{"{name}": "why this is intended"}}.',
            )
    with runner.everything_kept():
        made = _subject(subject, inputs, keyword_inputs, batched)
    if not fresh_process:
        return runner.run(made, rules, allowed)
    from layerwright.checks.processes import elsewhere

    return runner.run(made, rules, allowed, elsewhere.load)


def _words(names: Any) -> Any:
    """Names as a list: a single one may be given as text."""
    return [word.strip() for word in names.split(",")] if isinstance(names, str) else names


def _require_no_shapes(inputs: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
    """Refuse a bare shape among the inputs: it says nothing of the dtype, and a layer would take it for a tuple."""
    for value in (*inputs, *keywords.values()):
        if (
            isinstance(value, tuple)
            and any(d is None for d in value)
            and all(d is None or isinstance(d, int) for d in value)
        ):
            raise InputsError(
                f"`check` was given the shape {value} as an input.",
                expected="an array, or a Spec",
                got="a tuple",
                fix=f"write lw.Spec({value}).",
            )


def _subject(subject: Any, inputs: tuple[Any, ...], keywords: Mapping[str, Any], batched: bool) -> Subject:
    import keras

    from layerwright.checks.subject import Subject

    remarks: tuple[str, ...] = ()
    cls: type | None = None
    if isinstance(subject, keras.layers.Layer):
        name, cls = type(subject).__name__, type(subject)
        make, remarks = _remade(subject)
    elif isinstance(subject, type) and issubclass(subject, keras.layers.Layer):
        name, make, cls = subject.__name__, subject, subject
        _refuse_arguments(subject)
    elif callable(subject) and not isinstance(subject, type):
        name, make = getattr(subject, "__qualname__", type(subject).__name__), subject
        _refuse_arguments(subject)
    else:
        raise SubjectError(
            f"`check` was given {_kind(subject)}, which it can't check.",
            expected="a layer or model, its class, or a callable that makes one",
            got=_kind(subject),
            fix="write for example lw.check(lambda: MyLayer(3), x).",
        )
    made = Subject(name, make, tuple(inputs), dict(keywords), cls, batched, remarks)
    return made if inputs or keywords else _guessed(made)


def _guessed(subject: Subject) -> Subject:
    import dataclasses

    from layerwright.checks.guess import CannotGuess, inputs_for

    try:
        args, kwargs = inputs_for(subject.make)
    except CannotGuess as failed:
        raise InputsError(failed.problem.message, fix=failed.problem.help, where=failed.problem.where) from None
    shapes = ", ".join(str(getattr(a, "shape", type(a).__name__)) for a in args)
    return dataclasses.replace(
        subject, args=tuple(args), kwargs=dict(kwargs), remarks=(*subject.remarks, f"inputs were guessed: {shapes}")
    )


def _kind(subject: Any) -> str:
    return f"the class {subject.__name__}" if isinstance(subject, type) else f"a {type(subject).__name__}"


def _refuse_arguments(subject: Any) -> None:
    """A class or callable that needs arguments can't be made fresh."""
    try:
        parameters = inspect.signature(subject).parameters.values()
    except (TypeError, ValueError):
        return
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if needed:
        name = getattr(subject, "__name__", "make")
        raise SubjectError(
            f"`{name}` needs arguments, so that `check` can't make a fresh one.",
            expected="a callable without required arguments",
            got=f"required: {', '.join(needed)}",
            fix=f"write lw.check(lambda: {name}({', '.join(f'{n}=...' for n in needed)}), x).",
        )


def _remade(instance: Any) -> tuple[Callable[[], Any], tuple[str, ...]]:
    """Fresh layers from an instance: by its config, with its weights; the instance itself where that fails."""
    import keras

    from layerwright.checks.attempt import quiet, text_of

    def make() -> Any:
        names: dict[str, type] = {type(instance).__name__: type(instance)}
        names[keras.saving.get_registered_name(type(instance))] = type(instance)
        with keras.saving.CustomObjectScope(names):
            copy = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(instance), safe_mode=False)
        if instance.built and [v.shape for v in copy.variables] == [v.shape for v in instance.variables]:
            copy.set_weights(instance.get_weights())
        return copy

    with quiet():
        try:
            make()
        except Exception as error:
            reason = next(iter(text_of(error).strip().splitlines()), "")
            return lambda: instance, (
                f"the instance can't be rebuilt from its config ({type(error).__name__}: {reason}); "
                "every probe used the instance itself, so that one may see what another left",
            )
    return make, ("the instance was rebuilt from its config for every probe",)
