"""Whether a line runs in every case: code under a question about types, backends or modes may be right."""

from __future__ import annotations

import ast

from layerwright.checks.static.code import Code

# Questions after which eager tensors, NumPy arrays or a certain framework may be taken for granted.
TYPE_QUESTIONS = frozenset({
    "isinstance", "hasattr", "issubclass", "callable", "type", "is_tensor", "is_keras_tensor", "is_symbolic_tensor",
    "is_tf_tensor", "ndarray", "executing_eagerly", "executing_eagerly_outside_functions", "run_eagerly", "backend",
    "is_tracing", "Tracer", "KerasTensor", "any_symbolic_tensors", "in_tf_graph", "in_stateless_scope",
})  # fmt: skip


def words(node: ast.AST) -> set[str]:
    """All names and attributes in an expression."""
    return {
        n.id if isinstance(n, ast.Name) else n.attr for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)
    }


def questions(code: Code, node: ast.AST) -> set[str]:
    """The words of every condition under which a node stands, in its function and those around it."""
    found: set[str] = set()
    inside: Code | None = code
    while inside is not None:
        for outer, part in inside.around(node):
            if isinstance(outer, ast.If | ast.IfExp | ast.While) and part is not outer.test:
                found |= words(outer.test)
            elif isinstance(outer, ast.BoolOp) and part is not outer.values[0]:
                found |= {word for value in outer.values if value is not part for word in words(value)}
            elif isinstance(outer, ast.Try):
                found.add("try")
        node, inside = inside.node, inside.parent
    return found


def by_type(code: Code, node: ast.AST) -> bool:
    """Whether a node stands under a question about types or backends."""
    return bool(questions(code, node) & TYPE_QUESTIONS)


def asks_types(code: Code) -> bool:
    """Whether a function asks about types or backends anywhere."""
    found = {n.id if isinstance(n, ast.Name) else n.attr for n in code.nodes if isinstance(n, ast.Name | ast.Attribute)}
    return bool(found & (TYPE_QUESTIONS - {"type"}))


def always(code: Code, node: ast.AST) -> bool:
    """Whether a node is run in every call of its function: under no condition, in no loop, in no `try`."""
    conditional = (ast.If, ast.IfExp, ast.While, ast.For, ast.Try, ast.BoolOp, ast.Match, ast.comprehension)
    return not any(isinstance(outer, conditional) for outer, _ in code.around(node))
