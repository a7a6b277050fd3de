"""What a constructor takes, and whether it passes on what every layer must take."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.facts import BASE_ARGUMENTS
from layerwright.checks.source import text_of
from layerwright.checks.static.code import Code
from layerwright.checks.static.detector import Fault, reads, signature
from layerwright.checks.static.view import ClassView


def super_calls(code: Code) -> list[ast.Call]:
    """The calls of a base class's constructor, in any of the ways to write them."""
    found = [call for inner in code.everything() for call in inner.calls]
    return [c for c in found if isinstance(c.func, ast.Attribute) and c.func.attr == "__init__"]


def takes_graph(code: Code) -> bool:
    """Whether a constructor gives the base class a graph, or a stack of layers."""
    return any(
        (call.args and not _names_class(call)) or {"inputs", "outputs", "layers"} & {k.arg for k in call.keywords}
        for call in super_calls(code)
    )


def _names_class(call: ast.Call) -> bool:
    """`Layer.__init__(self)`."""
    return len(call.args) == 1 and isinstance(call.args[0], ast.Name)


@reads("init-no-kwargs")
def init_no_kwargs(view: ClassView) -> Iterator[Fault]:
    """A constructor that can't take `name`, `trainable` and `dtype`, which every config holds."""
    init = view.method("__init__")
    if (
        init is None
        or not view.plain
        or view.is_abstract
        or (view.method("get_config") is not None and not _keeps_base(view))
    ):
        return
    if view.method("from_config") is not None or init.node.args.kwarg is not None or takes_graph(init):
        return
    if not super_calls(init) or init.node.args.vararg is not None:
        return
    missing = [name for name in BASE_ARGUMENTS if name not in {p.arg for p in init.own_parameters}]
    if missing:
        yield Fault(
            f"The source of `{init.said}` takes neither `**kwargs` nor {_listed(missing)}, so that a saved layer "
            "can't be loaded.",
            init.node,
            "`**kwargs`, passed on to `super().__init__(**kwargs)`",
            signature(init),
            "add `**kwargs` to the parameters and call `super().__init__(**kwargs)`.",
        )


def _keeps_base(view: ClassView) -> bool:
    """Whether `get_config` starts from the base class's config, as far as the source shows."""
    chain = view.chain("get_config")
    return any(c.dotted(call.func) == "super.get_config" for c in chain[-1:] for call in c.calls)


@reads("base-arg-not-forwarded")
def base_arg_not_forwarded(view: ClassView) -> Iterator[Fault]:
    """A constructor that takes `name`, `dtype`, `trainable` or `**kwargs` and never looks at it."""
    init = view.method("__init__")
    if init is None or not view.complete or not super_calls(init) or _starts_over(init):
        return
    lost = [p.arg for p in init.own_parameters if p.arg in BASE_ARGUMENTS and not init.reads(p.arg)]
    kwargs = init.node.args.kwarg
    if kwargs is not None and not init.reads(kwargs.arg):
        lost.append(f"**{kwargs.arg}")
    if not lost:
        return
    call = super_calls(init)[0]
    passed = [name if name.startswith("**") else f"{name}={name}" for name in lost]
    yield Fault(
        f"The source of `{init.said}` takes {_listed(lost)} and never uses {'it' if len(lost) == 1 else 'them'}.",
        call,
        f"super().__init__({', '.join(passed)}, ...)",
        text_of(call),
        f"pass {_listed(lost)} on to `super().__init__`.",
    )


def _starts_over(init: Code) -> bool:
    """Whether a constructor looks at its arguments as a whole, by `locals()` or the like."""
    return any(
        init.dotted(call.func) in ("builtins.locals", "builtins.vars", "inspect.currentframe") for call in init.calls
    )


@reads("functional-subclass-config")
def functional_subclass_config(view: ClassView) -> Iterator[Fault]:
    """A model that takes `inputs`, `outputs` and further arguments, and writes no config."""
    init = view.method("__init__")
    if init is None or not view.is_model or not view.plain:
        return
    parameters = [p.arg for p in init.own_parameters]
    further = [name for name in parameters if name not in ("inputs", "outputs", *BASE_ARGUMENTS)]
    forwarded = any(_passes(call, "inputs") and _passes(call, "outputs") for call in super_calls(init))
    if not {"inputs", "outputs"} <= set(parameters) or not further or not forwarded:
        return
    if view.method("get_config") is None and view.method("from_config") is None:
        yield Fault(
            f"The source of `{init.said}` takes {_listed(further)} beside `inputs` and `outputs`, and Keras saves "
            "neither the graph "
            f"nor {_listed(further)}.",
            init.node,
            "a constructor that makes the graph from arguments that the config keeps",
            signature(init),
            "make the graph inside `__init__`, and write `get_config`, or override `get_config` and `from_config`.",
        )


def _passes(call: ast.Call, name: str) -> bool:
    given = [*call.args, *(k.value for k in call.keywords)]
    return any(isinstance(value, ast.Name) and value.id == name for value in given)


@reads("model-config-defaults")
def model_config_defaults(view: ClassView) -> Iterator[Fault]:
    """A model with arguments of its own and without a `get_config`."""
    init = view.method("__init__")
    if (
        init is None
        or not view.is_model
        or not view.plain
        or view.is_abstract
        or not super_calls(init)
        or takes_graph(init)
    ):
        return
    own = [p.arg for p in init.own_parameters if p.arg not in BASE_ARGUMENTS]
    if own and view.method("get_config") is None and view.method("from_config") is None:
        was = "was" if len(own) == 1 else "were"
        yield Fault(
            f"The source of `{view.name}` has no `get_config`, and Keras doesn't save what a model's {_listed(own)} "
            f"{was}.",
            init.node,
            f"{_listed(own)} in the config, with the values of this model",
            "a config with the defaults of the constructor, or none",
            f'write `get_config` and return {{**super().get_config(), "{own[0]}": ...}}.',
        )


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
