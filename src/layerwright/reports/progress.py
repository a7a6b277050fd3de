"""The bar on stderr while subjects run: how many are done, and the name of the one that runs."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from layerwright.reports.console import console, safe
from layerwright.reports.words import counted

if TYPE_CHECKING:
    from rich.progress import Progress


class Bar:
    """A progress bar; it shows nothing where stderr is no terminal (a pipe, a log, a dumb one)."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._total = self._done = 0
        self._backend = self._description = ""

    def __enter__(self) -> Bar:
        if sys.stderr is not None and sys.stderr.isatty():
            self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def _start(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        on = console(sys.stderr)
        if on.is_dumb_terminal:
            return
        on.width -= len("^C ")  # where the terminal's echo made the line wrap, it could not be taken away again
        said = TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True))
        columns = (BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), said)
        self._progress = Progress(*columns, console=on, transient=True, expand=True, refresh_per_second=5)
        self._task = self._progress.add_task("", total=None)
        self._progress.start()

    def backend(self, name: str) -> None:
        """The next subjects run on this backend."""
        self._backend = name
        self._say(f"starting {name}")

    def loading(self, where: str) -> None:
        """A target is imported."""
        self._say(f"importing {where} on {self._backend}")

    def found(self, count: int, where: str) -> None:
        """A worker has listed the subjects of a target."""
        self._total += count
        self._say(f"{counted(count, 'subject')} in {where}")

    def started(self, subject: str) -> None:
        """A subject begins to run."""
        self._say(f"{subject} on {self._backend}")

    def finished(self) -> None:
        """A subject has its report."""
        self._done += 1
        self._total = max(self._total, self._done)
        self._say(None)

    def _say(self, text: str | None) -> None:
        if self._progress is not None:
            self._description = self._description if text is None else safe(text)
            self._progress.update(
                self._task, completed=self._done, total=self._total or None, description=self._description
            )
