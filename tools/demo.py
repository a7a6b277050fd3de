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


def run(command: Sequence[str], *words: str, to: Path | None = None) -> int:
    """The exit status of the command; its standard output goes to a file where one is named."""
    print(f"$ layerwright {' '.join(words)}{f' > {to.relative_to(ROOT)}' if to else ''}", flush=True)
    if to is None:
        return subprocess.run([*command, *words], cwd=ROOT, stdin=subprocess.DEVNULL).returncode
    to.parent.mkdir(parents=True, exist_ok=True)
    with to.open("wb") as file:
        return subprocess.run([*command, *words], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=file).returncode


def main(command: Sequence[str] | None = None) -> int:
    """Run the demonstration; 0 where both runs ended as they should."""
    command = command or [str(Path(sys.executable).with_name("layerwright"))]
    report = ROOT / REPORT
    shown = run(command, "check", EXAMPLE)
    written = run(command, "check", EXAMPLE, "--format", "json", to=report)
    if {shown, written} - {CLEAN, FINDINGS}:
        print(
            f"layerwright ended with status {max(shown, written, key=abs)}: it could not check the example.",
            file=sys.stderr,
        )
        return 2
    # A traceback would have ended with status 1 as well, and leaves no report.
    try:
        version = json.loads(report.read_text(encoding="utf-8"))["version"]
    except (ValueError, KeyError, TypeError) as error:
        print(f"{REPORT} is not a report: {error!r}", file=sys.stderr)
        return 2
    print(f"\nThe report lies in {REPORT} (JSON, format version {version}).")
    return 0


if __name__ == "__main__":
    sys.exit(main())
