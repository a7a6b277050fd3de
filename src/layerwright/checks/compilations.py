"""Where JAX keeps what it compiles while layers are checked: this process and its children need much of it again.

A layer is made and called dozens of times in one check. An eager `scan` is another function to JAX at each call, and
is compiled anew, though the program is the same; found here, it isn't.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile


@functools.cache
def folder() -> str:
    """A folder of this process, gone when it ends."""
    made, maker = tempfile.mkdtemp(prefix="layerwright-jax-"), os.getpid()

    def remove() -> None:
        if os.getpid() == maker:
            shutil.rmtree(made, ignore_errors=True)

    atexit.register(remove)
    return made
