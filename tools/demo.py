"""The main job on real input: check `examples/first_layers.py`, show what is found, and leave a report.

Findings are what the example is for, so that they are no failure here; a command that can't be used, or dies, is.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = "examples/first_layers.py"
REPORT = "build/first_layers.json"
CLEAN, FINDINGS = 0, 1


def main(command: Sequence[str] | None = None) -> int:
    """Run the demonstration; 0 where it ended as it should."""
    command = command or [str(Path(sys.executable).with_name("layerwright"))]
    words = ["check", EXAMPLE, "--json-report", REPORT]
    report = ROOT / REPORT
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    print(f"$ layerwright {' '.join(words)}", flush=True)
    status = subprocess.run([*command, *words], cwd=ROOT, stdin=subprocess.DEVNULL).returncode
    if status not in (CLEAN, FINDINGS):
        print(f"layerwright ended with status {status}: it could not check the example.", file=sys.stderr)
        return 2
    # A traceback would have ended with status 1 as well, and leaves no report.
    try:
        version = json.loads(report.read_text(encoding="utf-8"))["version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"{REPORT} is not a report: {error!r}", file=sys.stderr)
        return 2
    print(f"\nThe report lies in {REPORT} (JSON, format version {version}).")
    return 0


if __name__ == "__main__":
    sys.exit(main())
