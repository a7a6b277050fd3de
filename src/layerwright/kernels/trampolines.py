"""Entries for the frameworks: small functions that call shared machine code with one word more, the kernel's table.

They are written byte by byte: a kernel has several, and a compiler takes longer for one than Numba for a short loop.
Source: the System V ABI for x86-64, which passes integers in RDI, RSI, RDX, RCX, R8 and R9; Intel's manual for the
instructions.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence

# `mov register, imm64` for the argument that is added: by how many there are before it.
_MOVES = (b"\x48\xbf", b"\x48\xbe", b"\x48\xba", b"\x48\xb9", b"\x49\xb8", b"\x49\xb9")
_MOVE_TO_RAX, _JUMP_TO_RAX = b"\x48\xb8", b"\xff\xe0"
_BYTES = 32  # of an entry, of which it uses 22
_kept: list[mmap.mmap] = []
_protect = ctypes.CDLL(None, use_errno=True).mprotect
_protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def entry(shared: int, arguments: int, table: int) -> int:
    """The address of a new C function: it takes so many words, and calls `shared` with these and the table.

    It lives as long as the process, because frameworks keep its address.
    """
    return entries([(shared, arguments)], table)[0]


def entries(shared: Sequence[tuple[int, int]], table: int) -> list[int]:
    """As `entry`, for several functions of one table at once: their addresses and numbers of arguments.

    Raises:
        OSError: Where the system allows no machine code that is made at run time.
    """
    page = mmap.mmap(
        -1,
        mmap.PAGESIZE,
        flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
        prot=mmap.PROT_READ | mmap.PROT_WRITE,
    )
    for n, (address, arguments) in enumerate(shared):
        page[n * _BYTES : n * _BYTES + 22] = b"".join(
            [_MOVES[arguments], table.to_bytes(8, "little"), _MOVE_TO_RAX, address.to_bytes(8, "little"), _JUMP_TO_RAX]
        )
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    # Never writable and executable at once, which hardened systems refuse.
    if _protect(start, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC) != 0:
        raise OSError(ctypes.get_errno(), "The system allows no machine code that is made at run time.")
    _kept.append(page)
    return [start + n * _BYTES for n in range(len(shared))]
