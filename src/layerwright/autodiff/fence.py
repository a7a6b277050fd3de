"""What can't be differentiated, refused at the user's line before anything is rewritten."""

from __future__ import annotations

import ast

from layerwright.autodiff.sources import Source
from layerwright.autodiff.syntax import refuse

LOOP = "write it as a loop over the elements."
# What users write most of what isn't taken, how it is called, and what to write instead.
_REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Try: ("`try`", "test the condition with `if` beforehand."),
    ast.With: ("`with`", "do what it is for outside of the kernel."),
    ast.FunctionDef: ("a function inside of the function", "write it beside this one, and call it."),
    ast.ClassDef: ("a class", "use numbers and arrays."),
    ast.ListComp: ("a list comprehension", "make an array with `np.empty` and fill it in a loop."),
    ast.GeneratorExp: ("a generator expression", LOOP),
    ast.DictComp: ("a dictionary", "use an array, indexed by an integer."),
    ast.Dict: ("a dictionary", "use an array, indexed by an integer."),
    ast.SetComp: ("a set", "use an array."),
    ast.Set: ("a set", "use an array."),
    ast.NamedExpr: ("`:=`", "assign in a line of its own."),
    ast.Global: ("`global`", "pass the value as an argument."),
    ast.Nonlocal: ("`nonlocal`", "pass the value as an argument."),
    ast.Delete: ("`del`", "leave it out."),
    ast.Import: ("`import`", "import at the top of the file."),
    ast.ImportFrom: ("`import`", "import at the top of the file."),
    ast.Match: ("`match`", "use `if` and `elif`."),
    ast.Yield: ("`yield`", "write the results into an array."),
    ast.YieldFrom: ("`yield`", "write the results into an array."),
    ast.Await: ("`await`", "wait outside of the kernel."),
    ast.Starred: ("`*`", "write every argument."),
    ast.Lambda: ("a `lambda`", "write a function beside this one, and call it."),
}
_ACCEPTED = (
    *(ast.Assign, ast.AugAssign, ast.AnnAssign, ast.If, ast.For, ast.While, ast.Break, ast.Continue, ast.Return),
    *(ast.Pass, ast.Expr, ast.Assert, ast.Raise),
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.IfExp, ast.Attribute, ast.Subscript, ast.Name),
    *(ast.Constant, ast.Tuple, ast.List, ast.Slice, ast.keyword, ast.JoinedStr, ast.FormattedValue),
    *(ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context),
)


def check(source: Source) -> None:
    """Refuse a function whose text holds what has no derivative here.

    Raises:
        DifferentiationError: At the first such place.
    """
    arguments = source.tree.args
    for extra in (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs):
        if extra is not None:
            _refuse(source, extra, f"the argument `{extra.arg}`, which isn't positional", "name every argument.")
    if isinstance(source.tree, ast.AsyncFunctionDef):
        _refuse(source, source.tree, "`async`", "write a plain `def`.")
    for statement in source.tree.body:
        for node in _inner(statement):
            _check(source, node)


def _inner(node: ast.AST) -> list[ast.AST]:
    """The nodes from the outside in, without annotations."""
    found = [node]
    for field, value in ast.iter_fields(node):
        if isinstance(node, ast.AnnAssign) and field == "annotation":
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                found.extend(_inner(part))
    return found


def _check(source: Source, node: ast.AST) -> None:
    if type(node) in _REFUSED:
        _refuse(source, node, *_REFUSED[type(node)])
    elif not isinstance(node, _ACCEPTED):
        _refuse(source, node, f"`{type(node).__name__}`", LOOP)
    elif isinstance(node, ast.For | ast.While) and node.orelse:
        _refuse(source, node.orelse[0], "`else` after a loop", "set a variable before the loop and in it, and test it.")
    elif isinstance(node, ast.Constant) and isinstance(node.value, complex):
        _refuse(source, node, "a complex number", "compute with the real and the imaginary part.")


def _refuse(source: Source, node: ast.AST, what: str, fix: str) -> None:
    refuse(node, f"`{source.name}` has {what}, through which no derivative is taken.", fix=fix)
