"""What is installed, read from the packages' metadata: nothing is imported."""

from __future__ import annotations

import contextlib
import importlib.util

from layerwright.errors import BackendError

OLDEST_KERAS = (3, 12)
NAMES = {"tensorflow": ("tensorflow", "tensorflow-cpu", "tf-nightly"), "keras": ("keras", "keras-nightly")}


def version(package: str) -> str | None:
    """The installed version of a package; None where it isn't known."""
    import importlib.metadata

    for name in NAMES.get(package, (package,)):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    return None


def require_keras() -> None:
    """Refuse an environment without a Keras that can be checked.

    Raises:
        BackendError: Where Keras is missing or too old, or only `tf_keras` is there.
    """
    have, oldest = version("keras"), ".".join(map(str, OLDEST_KERAS))
    if have is None:
        if importlib.util.find_spec("keras") is not None:
            return  # a checkout on Python's path, without metadata
        legacy = version("tf_keras")
        got = f"tf_keras {legacy}" if legacy else "no keras"
        what = f"tf_keras {legacy} (Keras 2) is installed, but not Keras 3" if legacy else "Keras is not installed"
    elif _release(have) < OLDEST_KERAS:
        got = what = f"keras {have}"
        what = f"Keras {have} is installed, which is {'Keras 2' if _release(have) < (3,) else 'too old'}"
    else:
        return
    raise BackendError(
        f"{what}; layerwright checks layers of Keras {oldest} or newer.",
        expected=f"keras {oldest} or newer",
        got=got,
        fix=f'pip install "keras>={oldest}".',
    )


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())
