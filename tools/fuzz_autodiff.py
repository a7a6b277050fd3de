"""Random loops, differentiated: `fuzz_autodiff.py FIRST LAST` counts verdicts, and prints each program that is wrong.

Run from the repository's root. `--compiled` runs the derived functions through Numba, `--first-order` leaves out the
second derivatives.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from autodiff import programs


def main(arguments: list[str]) -> int:
    """Run programs FIRST to LAST."""
    first, last = (int(a) for a in arguments if a.isdigit())
    options = {}
    if "--compiled" in arguments:
        from layerwright.kernels.types_of import compiled

        options["run"] = compiled
    verdicts: Counter[str] = Counter()
    began = time.time()
    for seed in range(first, last):
        try:
            verdict = programs.trial(seed, second="--first-order" not in arguments, **options)
        except programs.WrongError as error:
            verdict = "WRONG"
            print(error)
        except Exception as error:
            verdict = f"CRASH {type(error).__name__}"
            print(f"program {seed}: {type(error).__name__}: {error}")
            if "--trace" in arguments:
                traceback.print_exc()
        verdicts[verdict] += 1
    for verdict, count in verdicts.most_common():
        print(f"{count:6} {verdict}")
    print(f"{last - first} programs in {time.time() - began:.0f} s")
    return sum(count for verdict, count in verdicts.items() if verdict.startswith(("WRONG", "CRASH")))


if __name__ == "__main__":
    raise SystemExit(min(main(sys.argv[1:]), 1))
