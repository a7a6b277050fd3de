"""A worker without Keras: every function of a plain Python file is a subject, and calling it is checking it."""

import inspect
import os
from types import ModuleType, SimpleNamespace

from layerwright.checks.processes.services import Real
from layerwright.checks.processes.worker import main
from layerwright.checks.report import Report


class Light(Real):
    def warm(self, channel):
        if "LIGHT_UNREADY" in os.environ:
            raise ImportError("no module named 'framework'")

    def load(self, target):
        module = ModuleType("light")
        with open(target.location) as file:
            exec(compile(file.read(), target.location, "exec"), vars(module))
        own = [f for f in vars(module).values() if inspect.isfunction(f) and not f.__name__.startswith("_")]
        found = [
            SimpleNamespace(name=f.__name__, path=target.location, line=f.__code__.co_firstlineno, call=f) for f in own
        ]
        return found, [f"remark on {os.path.basename(target.location)}"]

    def build(self, found, job):
        return found

    def covers(self, subject, other):
        return getattr(subject.call, "covers", None) == other.name

    def spoiled(self):
        return None

    def check(self, subject, job):
        said = subject.call()
        return said if isinstance(said, Report) else Report(subject.name, job["backend"], remarks=(f"{said}",))


if __name__ == "__main__":
    main(Light())
