"""Entries for the frameworks: small functions that call shared machine code with one word more, the kernel's table."""

from __future__ import annotations

import threading

import llvmlite.binding as llvm
from llvmlite import ir

_lock = threading.Lock()
_kept: list[llvm.ExecutionEngine] = []


def entry(shared: int, arguments: int, table: int, name: str) -> int:
    """The address of a new C function: it takes so many words, and calls `shared` with these and the table.

    It lives as long as the process, because frameworks keep its address.
    """
    word = ir.IntType(64)
    module = ir.Module(name)
    module.triple = llvm.get_process_triple()
    function = ir.Function(module, ir.FunctionType(word, [word] * arguments), "entry")
    builder = ir.IRBuilder(function.append_basic_block())
    target = builder.inttoptr(word(shared), ir.FunctionType(word, [word] * (arguments + 1)).as_pointer())
    builder.ret(builder.call(target, [*function.args, word(table)], tail=True))
    with _lock:
        machine = llvm.Target.from_default_triple().create_target_machine(opt=1)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(str(module)), machine)
        engine.finalize_object()
        _kept.append(engine)
        return int(engine.get_function_address("entry"))
