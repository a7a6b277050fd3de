"""Entries for the frameworks: small functions that call shared machine code with one word more, the kernel's table."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import llvmlite.binding as llvm
from llvmlite import ir

_lock = threading.Lock()
_kept: list[llvm.ExecutionEngine] = []


def entry(shared: int, arguments: int, table: int, name: str) -> int:
    """The address of a new C function: it takes so many words, and calls `shared` with these and the table.

    It lives as long as the process, because frameworks keep its address.
    """
    return entries([(shared, arguments)], table, name)[0]


def entries(shared: Sequence[tuple[int, int]], table: int, name: str) -> list[int]:
    """As `entry`, for several functions of one table at once: their addresses and numbers of arguments."""
    word = ir.IntType(64)
    module = ir.Module(name)
    module.triple = llvm.get_process_triple()
    for n, (address, arguments) in enumerate(shared):
        function = ir.Function(module, ir.FunctionType(word, [word] * arguments), f"entry{n}")
        builder = ir.IRBuilder(function.append_basic_block())
        target = builder.inttoptr(word(address), ir.FunctionType(word, [word] * (arguments + 1)).as_pointer())
        builder.ret(builder.call(target, [*function.args, word(table)], tail=True))
    with _lock:
        machine = llvm.Target.from_default_triple().create_target_machine(opt=1)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(str(module)), machine)
        engine.finalize_object()
        _kept.append(engine)
        return [int(engine.get_function_address(f"entry{n}")) for n in range(len(shared))]
