"""`@kernel`, and the object that it makes."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, overload

import keras
import numpy as np

from layerwright.errors import GradientError, KernelError, SignatureError
from layerwright.kernels import bridges, native, source
from layerwright.kernels.dtypes import FLOATS, INTEGERS, Given, Plan, is_floating, plan
from layerwright.kernels.signature import Signature, parse, resolve

if TYPE_CHECKING:
    from layerwright.autodiff import Derivative

_lock = threading.RLock()


@dataclasses.dataclass(frozen=True)
class Options:
    """How a kernel is compiled; see `kernel`."""

    parallel: bool = False
    fastmath: bool = False
    boundscheck: bool = False
    differentiable: bool | None = None
    cache: bool = False
    outputs: tuple[str, ...] | None = None
    aliases: tuple[str | None, ...] | None = None


@overload
def kernel(function: Callable[..., Any], /) -> Kernel: ...
@overload
def kernel(signature: str | None = None, /, **options: Any) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(given: Any = None, /, **options: Any) -> Any:
    """Make a Python loop a native operation of TensorFlow, JAX and PyTorch, compiled by Numba.

    Without a signature the function is elementwise: numbers in, a number or a tuple of numbers out. With one, such as
    `"(t),()->(t)"`, it works on the last axes, as `numba.guvectorize` has it: inputs of core shape `()` are numbers,
    the others arrays that must not be written to; the outputs are the last arguments, arrays that are written in place
    (of one element where the core shape is `()`). Leading axes broadcast as in NumPy.

    Args:
        given: The signature, or the function itself.
        parallel: Whether large batches are split among threads, one a processor.
        fastmath: Whether floating-point arithmetic may be rearranged, as Numba's option of that name.
        boundscheck: Whether an index out of bounds and a division by zero raise; otherwise arithmetic follows IEEE 754,
            and an index out of bounds is undefined behaviour.
        differentiable: False where a gradient makes no sense: asking for one raises. True to derive the gradient at
            once, for floats, so that what can't be differentiated is told at the definition.
        cache: Whether the machine code is kept on disk for the next process.
        outputs: The dtypes of the outputs, where they aren't those of the inputs: `outputs=("int32",)`.
        aliases: For each output the input whose memory it may take, or None: `aliases="x"`. It says that the function
            reads no element of that input after it has written the output's element there. JAX and TensorFlow then
            need no new memory where nobody else needs the input; elsewhere the call is as without it.

    Returns:
        A `Kernel`, which is called like any operation of Keras.

    Raises:
        SignatureError: Where the signature can't be read or doesn't fit the function.

    Gradients:
        Derived from the source when one is asked for, or by `@my_kernel.backward`.

    Example:
        >>> @kernel
        ... def power(p, x):
        ...     return p * x**2
        >>> float(power(3.0, 2.0))
        12.0
    """
    if given is None or isinstance(given, str):
        chosen = _options(options)
        return lambda function: Kernel(function, parse(given) if given is not None else None, chosen)
    return Kernel(given, None, _options(options))


def _options(given: dict[str, Any]) -> Options:
    known = [field.name for field in dataclasses.fields(Options)]
    for name in given:
        if name not in known:
            raise SignatureError(f"`kernel` has no option `{name}`.", expected=", ".join(known), got=name)
    for name, value in given.items():
        if name not in ("outputs", "aliases") and value not in (True, False, *((None,) * (name == "differentiable"))):
            raise SignatureError(f"`{name}` is a switch.", expected="True or False", got=repr(value))
    outputs, aliases = given.get("outputs"), given.get("aliases")
    if outputs is not None:
        each = outputs if isinstance(outputs, tuple | list) else (outputs,)
        given["outputs"] = tuple(value if isinstance(value, str) else _dtype_name(value) for value in each)
    if aliases is not None:
        given["aliases"] = tuple(aliases) if isinstance(aliases, tuple | list) else (aliases,)
    return Options(**given)


def _dtype_name(value: Any) -> str:
    try:
        return str(np.dtype(value).name)
    except TypeError:
        return repr(value)


class Kernel:
    """A native operation; made by `kernel`.

    Args:
        function: The Python function, or a Numba dispatcher.
        signature: Its core dimensions; None for an elementwise function.
        options: How it is compiled.
        name: How errors and operations call it; the function's own by default.

    Attributes:
        name: As above.
        function: The Python function.
        signature: With as many inputs and outputs as the function has.
        elementwise: Whether it takes and returns numbers.
        arguments: The names of the inputs.
        results: The names of the outputs.
        gradient: The kernel of its gradient that was given by hand, or None.
        derivation: How this gradient was derived, where it was, and has a gradient of its own.
        origin: The kernel of which this is the derived gradient, or None.
        by_hand: Whether it is a gradient that was given by `backward`.
    """

    # AutoGraph of TensorFlow leaves alone what has this: there is nothing in a kernel for it to rewrite.
    autograph_info__: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        function: Any,
        signature: Signature | None = None,
        options: Options | None = None,
        *,
        name: str | None = None,
    ) -> None:
        self.function = source.function_of(function)
        self.options = options or Options()
        self.elementwise = signature is None
        self.name = name or self.function.__name__
        self.gradient: Kernel | None = None
        self.derivation: Derivative | None = None
        self.origin: Kernel | None = None
        self._given, self._signature, self.by_hand = function, signature, False
        self._plans: dict[tuple[Given, ...], Plan] = {}
        self._loops: dict[tuple[str, ...], Any] = {}
        self._around = source.surroundings(self.function)
        names = source.arguments_of(self.function)
        if signature is not None:
            count = len(signature.inputs)
            told = f"{count} inputs and {len(signature.outputs)} outputs, because of `{signature}`"
            names = source.require_arguments(self.function, count + len(signature.outputs), told)
            self.arguments, self._outputs = names[:count], names[count:]
        else:
            self.arguments, self._outputs = names, []
        if not set(self.options.aliases or ()) <= {*self.arguments, None}:
            raise self._misfit(self.options.aliases, f"names of inputs: {', '.join(self.arguments)}")
        functools.update_wrapper(self, self.function)
        theirs = inspect.signature(self.function).parameters
        parameters = [theirs[n].replace(annotation=inspect.Parameter.empty) for n in self.arguments]
        if "out" not in self.arguments:
            parameters.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
        self.__signature__ = inspect.Signature(parameters)
        if signature is not None:
            self.aliases  # noqa: B018 - what is wrong with them is said here
        self._require_outputs()
        if signature is not None:
            source.require_written(self.function, self._outputs, self.name)
        if self.options.differentiable:
            from layerwright.kernels import derived

            derived.check(self)
        native.announce(self)

    def __call__(self, *args: Any, out: Any = None, **named: Any) -> Any:
        """Compute; tensors of any framework, KerasTensors, Variables, arrays and numbers may stand beside one another.

        Args:
            args, named: One for each input, or for each without a default.
            out: Arrays of NumPy or tensors of PyTorch that are there already and are filled, one for each output, as
                NumPy has it: of the dtype and shape that the call would give, and without a gradient. It may be an
                input, too.

        Raises:
            ShapeError: Where shapes don't fit the signature.
            DtypeError: Where a dtype isn't one that kernels compute in, or two frameworks meet.
        """
        if named or len(args) != len(self.arguments):
            args = self._bound(args, named)
        if out is not None:
            return bridges.fill(self, args, out)
        bridge, values = bridges.of(self, args)
        outputs: Sequence[Any] = bridge.call(self, values)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _bound(self, args: Sequence[Any], named: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments in their order, with those that have a default."""
        defaults = self.function.__defaults__ or ()
        first = len(inspect.signature(self.function).parameters) - len(defaults)
        given = dict(zip(self.arguments[first:], defaults, strict=False)) | dict(
            zip(self.arguments, args, strict=False)
        )
        given |= named
        if len(args) > len(self.arguments) or set(given) != set(self.arguments):
            told = [*map(str, range(len(args))), *named]
            raise SignatureError(
                f"`{self.name}` was called with {len(told)} arguments.",
                expected=f"{len(self.arguments)}: {', '.join(self.arguments)}",
                got=str(len(args)) if not named else f"{len(args)}, and {', '.join(named)}",
                fix="pass one for each.",
            )
        return tuple(given[name] for name in self.arguments)

    def __deepcopy__(self, _memo: Any) -> Kernel:
        """Itself: what is compiled belongs to the process."""
        return self

    def __reduce__(self) -> str:
        """By its name in its module."""
        return self.function.__qualname__

    def backward(self, function: Any) -> Kernel:
        """Give the gradient by hand; the result is a kernel too, which may have a `backward` of its own.

        An elementwise gradient takes (inputs..., outputs..., cotangents...) and returns a number for each input. One
        with a signature takes the same, followed by an array for each input's gradient, which it writes in place;
        inputs of core shape `()` are numbers, everything else is an array, of one element where the core shape is `()`.
        Each is computed for every row of the batch; gradients of broadcast inputs are summed afterwards.
        """
        inner = source.function_of(function)
        inputs, outputs = len(self.signature.inputs), len(self.signature.outputs)
        told = f"{inputs} inputs, {outputs} outputs and {outputs} cotangents"
        if self.elementwise:
            source.require_arguments(inner, inputs + 2 * outputs, told)
        else:
            source.require_arguments(inner, 2 * (inputs + outputs), f"{told}, and {inputs} gradients to write")
        options = dataclasses.replace(self.options, outputs=None, aliases=None, differentiable=None)
        signature = None if self.elementwise else self.signature.gradient()
        self.gradient = Kernel(function, signature, options, name=f"{self.name}_backward")
        self.gradient.by_hand = True
        if self.elementwise:
            self.gradient.signature = Signature(((),) * (inputs + 2 * outputs), ((),) * inputs)
        return self.gradient

    def derivative(self, dtypes: Sequence[str]) -> Kernel:
        """The kernel of the gradient for loop dtypes: the one that was given, else one that is derived.

        Raises:
            GradientError: Where there is none.
            DifferentiationError: Where the function holds what isn't differentiated, at its line.
        """
        if not self.has_gradient:
            raise self.no_gradient()
        if self.gradient is not None:
            return self.gradient
        from layerwright.kernels import derived

        return derived.gradient(self, tuple(dtypes))

    @property
    def has_gradient(self) -> bool:
        """Whether a gradient may be asked for; one by hand has none of its own but by hand."""
        return self.options.differentiable is not False and (self.gradient is not None or not self.by_hand)

    @functools.cached_property
    def signature(self) -> Signature:
        """The core dimensions of every input and output."""
        if self._signature is not None:
            return self._signature
        count = source.returned_count(self.function) or self._returned_count()
        return Signature(((),) * len(self.arguments), ((),) * count)

    def _returned_count(self) -> int:
        """How many numbers an elementwise function returns, as Numba sees it."""
        for dtype in ("float64", "int64", "bool"):
            with contextlib.suppress(KernelError):
                return len(self.kinds([dtype] * len(self.arguments)))
        return len(self.kinds(["float64"] * len(self.arguments)))

    @functools.cached_property
    def aliases(self) -> tuple[int | None, ...]:
        """For each output the input whose memory it may take, or None.

        Raises:
            SignatureError: Where the option `aliases` doesn't fit the signature.
        """
        given, signature = self.options.aliases, self.signature
        if given is None:
            return (None,) * len(signature.outputs)
        if len(given) != len(signature.outputs):
            raise self._misfit(given, f"{len(signature.outputs)}, one for each output")
        found = tuple(None if name is None else self.arguments.index(name) for name in given)
        taken = [index for index in found if index is not None]
        if len(set(taken)) < len(taken):
            raise self._misfit(given, "an input for one output only")
        for index, dims in zip(found, signature.outputs, strict=True):
            if index is not None and signature.inputs[index] != dims:
                raise self._misfit(given, f"an input with the core dimensions of the output, in {signature}")
        return found

    def _require_outputs(self) -> None:
        """Refuse an option `outputs` that says no dtypes, or not one for each output."""
        given = self.options.outputs or ()
        unknown = [name for name in given if name not in (*FLOATS, *INTEGERS, "bool")]
        counted = self._signature is not None and len(given) != len(self._signature.outputs)
        if unknown or (given and counted):
            raise SignatureError(
                f"`outputs` of `{self.name}` doesn't fit.",
                expected=f"a dtype for each output: {', '.join((*FLOATS, *INTEGERS, 'bool'))}",
                got=", ".join(map(str, given)),
                fix='write `outputs="int32"`, or `outputs=("float32", "int32")` for two.',
                where=self.place,
            )

    def _misfit(self, got: Any, expected: str) -> SignatureError:
        return SignatureError(
            f"`aliases` of `{self.name}` doesn't fit.",
            expected=expected,
            got=repr(got[0] if len(got) == 1 else got),
            fix='name for each output an input, or None: `aliases="x"`, `aliases=("x", None)`.',
            where=self.place,
        )

    @functools.cached_property
    def results(self) -> list[str]:
        """The names of the outputs."""
        return self._outputs or [f"output {n}" for n in range(len(self.signature.outputs))]

    @functools.cached_property
    def compiled(self) -> Any:
        """The function as Numba's dispatcher, which compiles it when it is first needed for some types."""
        from layerwright.kernels.loops import dispatcher

        return dispatcher(self._given, self.options)

    @functools.cached_property
    def fingerprint(self) -> str | None:
        """Sixteen digits that tell it from kernels that compute something else; None where that can't be said."""
        theirs = sorted(getattr(self._given, "targetoptions", {}).items())
        return source.fingerprint(self.function, str(self._signature), self.options, theirs)

    @property
    def source(self) -> str:
        """The source of what was compiled."""
        return source.text_of(self.function)

    @property
    def place(self) -> str:
        """`file:line` of the function; of that from which it was derived."""
        return source.place_of(self.function if self.origin is None else self.origin.function)

    def kinds(self, dtypes: Sequence[str]) -> Sequence[str | None]:
        """The dtypes that the function gives for these of its inputs; None where it takes what it is given."""
        if self.options.outputs is not None:
            return self.options.outputs
        if not self.elementwise:
            return [None] * len(self.signature.outputs)
        from layerwright.kernels.loops import returned

        with _lock:
            return returned(self, dtypes)

    def plan(self, given: Sequence[Given]) -> Plan:
        """The dtypes of a call with arguments of these; see `dtypes`."""
        key = (keras.config.floatx(), *given)
        if key not in self._plans:
            self._require_numba()
            self._refresh()
            made = plan(given, self.name, self.arguments, self.kinds, self.options.outputs)
            if self.elementwise and len(made.outputs) != len(self.signature.outputs):
                self._recount(len(made.outputs))
            self._plans[key] = made
        return self._plans[key]

    def _recount(self, count: int) -> None:
        """Take the number of outputs as Numba sees it, where the text of the function seemed to say another."""
        for name in ("aliases", "results"):
            self.__dict__.pop(name, None)
        self.signature = Signature(((),) * len(self.arguments), ((),) * count)

    def gradient_dtypes(self, loop: Sequence[str]) -> tuple[str, ...]:
        """The loop dtypes of the gradient for those of the kernel: inputs, outputs, cotangents, gradients."""
        count = len(self.arguments)
        inputs, outputs = loop[:count], loop[count:]
        floating = [dtype if is_floating(dtype) else "float32" for dtype in loop]
        return (*inputs, *outputs, *floating[count:], *floating[:count])

    def shapes(self, shapes: Sequence[Sequence[int | None]]) -> list[tuple[int | None, ...]]:
        """The outputs' shapes for the inputs'; None where a size isn't known.

        Raises:
            ShapeError: Where they don't fit.
        """
        return resolve(self.signature, [tuple(shape) for shape in shapes], self.name, self.arguments)

    def loop(self, dtypes: Sequence[str]) -> Any:
        """The machine code for loop dtypes, inputs first; compiled once.

        Raises:
            KernelError: Where what the function reads from around it isn't what it was for other dtypes.
        """
        from layerwright.kernels.loops import Loop

        key = tuple(dtypes)
        with _lock:
            if key not in self._loops:
                self._require_same(source.surroundings(self.function))
                self._loops[key] = Loop(self, key)
            return self._loops[key]

    def _require_numba(self) -> None:
        if not native.has_numba():
            raise KernelError(
                f"`{self.name}` can't be compiled, because Numba isn't there.",
                expected="the package numba",
                got="none",
                fix='pip install "layerwright[kernels]"',
                where=self.place,
            )

    def _refresh(self) -> None:
        """Take the function's surroundings as they are now, where nothing was compiled yet; also for the gradients."""
        with _lock:
            now = source.surroundings(self.function)
            if not self._plans and not self._loops and now != self._around:
                self._around = now
                self.__dict__.pop("fingerprint", None)
                native.forget(self)
            self._require_same(now)
        if self.gradient is not None:
            self.gradient._refresh()

    def _require_same(self, now: dict[str, str | None]) -> None:
        # Numba takes globals as they are when it compiles, and the name of an operation tells what it computes.
        changed = [name for name in {**now, **self._around} if now.get(name) != self._around.get(name)]
        if changed:
            raise KernelError(
                f"`{changed[0]}`, which `{self.name}` reads, has changed since `{self.name}` was "
                f"{'first called' if self._plans or self._loops else 'defined'}.",
                expected="the same value for every call",
                got="another",
                fix=f"pass `{changed[0]}` as an input, or define the kernel again after the change.",
                where=self.place,
            )

    def no_gradient(self) -> GradientError:
        """The error for a gradient that isn't there."""
        if self.origin is not None:
            return GradientError(
                f"`{self.name}` is a second derivative, and has no gradient.",
                expected="derivatives of first and second order",
                got="one of third order",
                fix="stop the gradient before it (`keras.ops.stop_gradient`).",
                where=self.origin.place,
            )
        if self.options.differentiable is False:
            return GradientError(
                f"`{self.name}` was made with `differentiable=False`, and its gradient is asked for.",
                fix="stop the gradient before it (`keras.ops.stop_gradient`), or leave the option out.",
                where=self.place,
            )
        return GradientError(
            f"`{self.name}` has no gradient, so that there is no second derivative.",
            expected="a function with `@" + self.name + ".backward`",
            got="none",
            fix="write one, or stop the gradient before the kernel (`keras.ops.stop_gradient`).",
            where=self.place,
        )

    def check_gradient(
        self,
        *inputs: Any,
        tolerance: float = 1e-6,
        outputs: Sequence[str] | None = None,
        arguments: Sequence[str] | None = None,
    ) -> None:
        """Compare the gradient with central differences in float64.

        Args:
            inputs: Arrays or numbers; those that are floating are moved, one element after the other.
            tolerance: The largest error that is allowed, relative to the gradient's size.
            outputs: The names of the outputs that are differentiated; all by default. One that only carries values to
                the gradient is left out here: its cotangent is zero then.
            arguments: The names of the inputs whose gradients are compared; all by default.

        Raises:
            GradientError: Where it is wrong: which input, the worst element, both values there.
        """
        from layerwright.kernels.differences import check_gradient

        check_gradient(self, inputs, tolerance, outputs, arguments)

    def __repr__(self) -> str:
        what = "elementwise" if self.elementwise else f'"{self._signature}"'
        gradient = "" if self.gradient is None else ", with a gradient"
        return f"<kernel {self.name}({', '.join(self.arguments)}) {what}{gradient}>"
