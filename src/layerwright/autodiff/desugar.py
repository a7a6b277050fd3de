"""Pass: Python's many ways of assigning and looping become few.

Afterwards an assignment has one target, a name or `array[...]`, save for arrays that trade names (`a, b = b, a`);
`+=` and `-=` are left where the value doesn't read the target; loops run over `range(...)` with a variable of their own
that nothing else reads or writes.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from layerwright.autodiff.program import Program
from layerwright.autodiff.syntax import (
    assign,
    base,
    constant,
    element,
    expression,
    loaded,
    name,
    placed,
    reads,
    rebuild,
    refuse,
    rename,
    stored,
    targets,
    walk,
    writes,
)


def desugar(program: Program) -> None:
    """Bring the statements of a program into that form."""
    walker = _Desugar(program)
    program.body = walker.block(program.body)
    program.body = _own_loop_variables(program)


class _Desugar:
    def __init__(self, program: Program) -> None:
        self.program, self.names = program, program.names
        self.local = program.local

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for s in statements:
            method = getattr(self, "_" + type(s).__name__, None)
            new = [s] if method is None else method(s)
            out += [placed(n, s) for n in new]
        return out

    def fresh(self, wanted: str) -> str:
        found = self.names.fresh(wanted)
        self.local.add(found)
        return found

    def meaning(self, node: ast.AST) -> Any:
        from layerwright.autodiff.sources import meaning

        return meaning(node, self.program.namespace, self.local)

    def value(self, node: ast.expr) -> ast.expr:
        """An expression in few forms: `np.where` of numbers as a branch, `len` as a shape, `x[i][j]` as `x[i, j]`."""
        inner = rebuild(node, lambda n: self.value(n) if isinstance(n, ast.expr) and n is not node else None)
        new = self._short(inner)
        return placed(new, node) if new is not inner else inner

    def _short(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Subscript) and isinstance(node.ctx, ast.Load):
            return self.merged(node, node.value)
        if not isinstance(node, ast.Call) or node.keywords:
            return node
        function, arguments = self.meaning(node.func), node.args
        if function is np.where and len(arguments) == 3:
            return ast.IfExp(*arguments)
        if (
            function is len
            and len(arguments) == 1
            and reads(arguments[0]) & self.local
            and not isinstance(arguments[0], ast.Call)
        ):
            return expression("x.shape[0]", x=arguments[0])
        if function is pow and len(arguments) == 2:
            return ast.BinOp(arguments[0], ast.Pow(), arguments[1])
        if function is np.clip and len(arguments) == 3:
            x, low, high = arguments
            return expression("min(max(x, low), high)", x=x, low=low, high=high)
        return node

    def merged(self, node: ast.Subscript, inner: ast.Subscript) -> ast.expr:
        parts = inner.slice.elts if isinstance(inner.slice, ast.Tuple) else [inner.slice]
        if isinstance(inner.value, ast.Attribute) or any(isinstance(p, ast.Slice) for p in parts):
            return node
        rest = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return ast.Subscript(inner.value, ast.Tuple([*parts, *rest], ast.Load()), node.ctx)

    def target(self, node: ast.expr) -> Any:
        new = self.value(loaded(node))
        owner = new.value if isinstance(new, ast.Subscript) else new
        if not isinstance(owner, ast.Name | ast.Subscript):
            refuse(node, f"`{ast.unparse(node)}` is assigned to.", fix="assign to a variable or to `array[...]`.")
        return stored(new)

    def _Pass(self, _: ast.Pass) -> list[ast.stmt]:
        return []

    def _Expr(self, s: ast.Expr) -> list[ast.stmt]:
        if isinstance(s.value, ast.Constant):
            return []
        if isinstance(s.value, ast.Call) and isinstance(s.value.func, ast.Attribute) and s.value.func.attr == "fill":
            whole = ast.Subscript(s.value.func.value, ast.Slice(), ast.Store())
            return self.block([placed(ast.Assign([whole], s.value.args[0]), s)])
        if isinstance(s.value, ast.Call) and self.meaning(s.value.func) is print:
            return []
        return refuse(s, f"`{ast.unparse(s.value)}` stands alone, and what it changes isn't known.",
               fix="assign its value, or leave it out.")  # fmt: skip

    def _AnnAssign(self, s: ast.AnnAssign) -> list[ast.stmt]:
        return [] if s.value is None else self._Assign(ast.Assign([s.target], s.value))

    def _Return(self, s: ast.Return) -> list[ast.stmt]:
        return [ast.Return(None if s.value is None else self.value(s.value))]

    def _If(self, s: ast.If) -> list[ast.stmt]:
        return [ast.If(self.value(s.test), self.block(s.body) or [ast.Pass()], self.block(s.orelse))]

    def _While(self, s: ast.While) -> list[ast.stmt]:
        return [ast.While(self.value(s.test), self.block(s.body) or [ast.Pass()], [])]

    def _AugAssign(self, s: ast.AugAssign) -> list[ast.stmt]:
        target, value = self.target(s.target), self.value(s.value)
        if isinstance(s.op, ast.Add | ast.Sub) and base(target) not in reads(value):
            return [ast.AugAssign(target, s.op, value)]
        return [ast.Assign([target], ast.BinOp(loaded(target), s.op, value))]

    def _Assign(self, s: ast.Assign) -> list[ast.stmt]:
        if len(s.targets) > 1:
            held = self.fresh("value")
            return self.block(
                [placed(assign(held, s.value), s), *(placed(assign(t, name(held)), s) for t in s.targets)]
            )
        target = s.targets[0]
        if isinstance(target, ast.Tuple | ast.List):
            return self.unpacked(s, target.elts)
        return [ast.Assign([self.target(target)], self.value(s.value))]

    def unpacked(self, s: ast.Assign, places: list[ast.expr]) -> list[ast.stmt]:
        value = s.value
        if isinstance(value, ast.Attribute) and value.attr == "shape":
            parts = [expression("x[k]", x=value, k=constant(k)) for k in range(len(places))]
            return self.block([placed(assign(t, p), s) for t, p in zip(places, parts, strict=True)])
        if not isinstance(value, ast.Tuple | ast.List) or len(value.elts) != len(places):
            refuse(s, f"`{ast.unparse(value)}` is taken apart.", fix="assign every value in a line of its own.")
        if _trade(places, value.elts):
            return [ast.Assign([ast.Tuple([stored(p) for p in places], ast.Store())], value)]
        if not any(base(p) in reads(*value.elts[k + 1 :], *places[k + 1 :]) for k, p in enumerate(places)):
            return self.block([placed(assign(p, v), s) for p, v in zip(places, value.elts, strict=True)])
        held = [self.fresh(f"{base(p)}_new") for p in places]
        first = [assign(h, v) for h, v in zip(held, value.elts, strict=True)]
        then = [assign(p, name(h)) for h, p in zip(held, places, strict=True)]
        return self.block([placed(n, s) for n in (*first, *then)])

    def _For(self, s: ast.For) -> list[ast.stmt]:
        before, variable, run, first = self.loop(s, s.target, s.iter)
        made = ast.For(ast.Name(variable, ast.Store()), run, [], [])
        made.body = self.block([*(placed(f, s) for f in first), *s.body]) or [ast.Pass()]
        return [*self.block([placed(b, s) for b in before]), made]

    def loop(
        self, s: ast.For, target: ast.expr, over: ast.expr
    ) -> tuple[list[ast.stmt], str, ast.Call, list[ast.stmt]]:
        """What comes before a loop, its variable, its range, and what comes first in its body."""
        function = self.meaning(over.func) if isinstance(over, ast.Call) else None
        called = getattr(function, "__name__", "")
        arguments = over.args if isinstance(over, ast.Call) else []
        if function is reversed and len(arguments) == 1 and isinstance(arguments[0], ast.Call):
            return self.loop(s, target, self.backwards(s, arguments[0]))
        if function is range or called == "prange":
            return self.counted(target, arguments)
        if isinstance(over, ast.Call) and function in (enumerate, zip):
            variable = self.fresh("k")
            start: ast.expr = name(variable)
            if function is enumerate:
                extra = [k.value for k in over.keywords] + arguments[1:]
                start = expression("k + start", k=start, start=extra[0]) if extra else start
                places = target.elts if isinstance(target, ast.Tuple) else refuse(s, _PAIR, fix=_PAIR_FIX)
                first = [assign(places[0], start)]
                before, size, inner = self.items(s, variable, places[1], arguments[0])
                return before, variable, expression("range(n)", n=size), [*first, *inner]  # type: ignore[return-value]
            before, size, inner = self.items(s, variable, target, over)
            return before, variable, expression("range(n)", n=size), inner  # type: ignore[return-value]
        variable = self.fresh("k")
        before, size, inner = self.items(s, variable, target, over)
        return before, variable, expression("range(n)", n=size), inner  # type: ignore[return-value]

    def counted(
        self, target: ast.expr, arguments: list[ast.expr]
    ) -> tuple[list[ast.stmt], str, ast.Call, list[ast.stmt]]:
        run = ast.Call(name("range"), [self.value(a) for a in arguments], [])
        if isinstance(target, ast.Name):
            return [], target.id, run, []
        variable = self.fresh("k")
        return [], variable, run, [assign(target, name(variable))]

    def items(
        self, s: ast.For, variable: str, target: ast.expr, over: ast.expr
    ) -> tuple[list[ast.stmt], ast.expr, list[ast.stmt]]:
        """Looping over arrays, one or several: how many there are, and how each item gets its name."""
        if isinstance(over, ast.Call) and self.meaning(over.func) is zip:
            places = target.elts if isinstance(target, ast.Tuple) else refuse(s, _PAIR, fix=_PAIR_FIX)
            before: list[ast.stmt] = []
            inner: list[ast.stmt] = []
            sizes = []
            for place, one in zip(places, over.args, strict=True):
                more, size, first = self.items(s, variable, place, one)
                before, inner = [*before, *more], [*inner, *first]
                sizes.append(size)
            size = sizes[0]
            for other in sizes[1:]:
                size = expression("min(a, b)", a=size, b=other)
            return before, size, inner
        before = []
        if not isinstance(over, ast.Name):
            if not isinstance(over, ast.Subscript):
                refuse(over, f"A loop runs over `{ast.unparse(over)}`.", fix="loop over `range(...)` or an array.")
            held = self.fresh("items")
            before, over = [assign(held, over)], name(held)
        if any(isinstance(t, ast.Name) and t.id == base(over) for inner in walk(s.body) for t in targets(inner)):
            refuse(s, f"`{base(over)}` becomes another array inside of the loop over it.", fix="loop over its indices.")
        if not isinstance(target, ast.Name):
            refuse(s, "A loop takes the rows of an array apart.", fix="give the row a name, and index it.")
        return before, expression("x.shape[0]", x=over), [assign(target, element(base(over), name(variable)))]

    def backwards(self, s: ast.For, run: ast.Call) -> ast.expr:
        if self.meaning(run.func) is not range or len(run.args) == 3:
            refuse(s, "A loop runs backwards over something else than `range(a, b)`.", fix="write the negative step.")
        low = run.args[0] if len(run.args) == 2 else constant(0)
        return placed(expression("range(high - 1, low - 1, -1)", high=run.args[-1], low=low), s)  # type: ignore[no-any-return]


_PAIR = "A loop gives pairs to one variable."
_PAIR_FIX = "write a variable for each."


def _trade(places: list[ast.expr], values: list[ast.expr]) -> bool:
    """Whether two variables trade places."""
    if len(places) != 2 or not all(isinstance(n, ast.Name) for n in (*places, *values)):
        return False
    (a, b), (c, d) = ([n.id for n in ns] for ns in (places, values))  # type: ignore[attr-defined]
    return (a, b) == (d, c)


def _own_loop_variables(program: Program) -> list[ast.stmt]:
    """Loops whose variables are theirs alone; a variable that is used elsewhere gets its value in the body."""
    loops = {base(s.target) for s in walk(program.body) if isinstance(s, ast.For)}
    assigned = {
        t.id for s in walk(program.body) if not isinstance(s, ast.For) for t in targets(s) if isinstance(t, ast.Name)
    }

    def block(statements: list[ast.stmt]) -> list[ast.stmt]:
        return [loop(s) if isinstance(s, ast.For) else inner(s) for s in statements]

    def inner(s: ast.stmt) -> ast.stmt:
        if isinstance(s, ast.If):
            return placed(ast.If(s.test, block(s.body), block(s.orelse)), s)  # type: ignore[no-any-return]
        if isinstance(s, ast.While):
            return placed(ast.While(s.test, block(s.body), []), s)  # type: ignore[no-any-return]
        return s

    def loop(s: ast.For) -> ast.stmt:
        variable, body = base(s.target), s.body
        if variable in escaping or variable in writes(body):
            own = program.names.fresh(variable)
            body = [placed(assign(variable, name(own)), s), *body]
        elif variable in taken:
            own = program.names.fresh(variable)
            body = rename(body, {variable: own})
        else:
            own = variable
        taken.add(variable)
        return placed(ast.For(ast.Name(own, ast.Store()), s.iter, block(body), []), s)  # type: ignore[no-any-return]

    escaping = {v for v in loops if v in program.arguments or v in assigned} | _read_outside(program.body, loops, set())
    taken: set[str] = set()
    return block(program.body)


def _read_outside(statements: list[ast.stmt], variables: set[str], inside: set[str]) -> set[str]:
    """The variables of loops that are read where none of their loops runs."""
    found: set[str] = set()
    for s in statements:
        if isinstance(s, ast.For):
            found |= reads(s.iter) & variables - inside
            found |= _read_outside(s.body, variables, inside | {base(s.target)})
        elif isinstance(s, ast.If | ast.While):
            found |= reads(s.test) & variables - inside
            found |= _read_outside([*s.body, *s.orelse], variables, inside)
        else:
            found |= reads(s) & variables - inside
    return found
