"""Workers that crash, hang and litter: what becomes of each subject, and that the others are checked all the same."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import psutil
import pytest

from layerwright.checks.processes import limits
from layerwright.checks.processes.limits import Limits
from layerwright.checks.processes.pool import Event, Pool
from layerwright.checks.processes.process import Child, WorkerError
from layerwright.checks.targets import Target, expand

HERE = Path(__file__).parent
QUICK = Limits(seconds=1.5, memory=1 << 28, output=1 << 16, processes=12)
# A file of which every function is a subject: see light_worker.py.
light = pytest.mark.once


@pytest.fixture
def check(tmp_path, monkeypatch):
    """Run the functions of a plain file in light workers: reports by name, and the events."""
    monkeypatch.setenv("PYTHONPATH", str(HERE))

    def run(source, allowed=QUICK, name="subjects.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(source))
        events: list[Event] = []
        pool = Pool("jax", allowed, program="light_worker")
        reports = list(pool.run([Target("file", str(path))], events.append))
        return {report.subject: report for report in reports}, events

    return run


def problem(report):
    found = report.problem
    return found.kind, found.message, found.line


def processes_of(word):
    """Living processes with a word on their command line."""
    known = psutil.process_iter(["cmdline", "status"])
    return [
        process.pid
        for process in known
        if process.info["status"] != psutil.STATUS_ZOMBIE
        and any(word in part for part in process.info["cmdline"] or ())
    ]


@light
def test_every_subject_is_announced_begun_and_reported_in_the_order_of_the_file(check):
    reports, events = check("def b(): return 'B'\ndef a(): return 'A'\n")
    assert {name: report.remarks for name, report in reports.items()} == {"b": ("B",), "a": ("A",)}
    assert [(e.kind, e.subject, e.total, e.remarks) for e in events] == [
        ("loading", None, 0, ()),
        ("announced", None, 2, ("remark on subjects.py",)),
        ("checking", "b", 2, ("remark on subjects.py",)),
        ("checking", "a", 2, ("remark on subjects.py",)),
    ]


@light
def test_a_subject_that_ends_the_process_is_reported_with_its_line_and_the_others_are_checked(check):
    reports, events = check(
        """
        import os
        def first(): return 1
        def leaves():
            os._exit(3)
        def last(): return 2
        """
    )
    assert list(reports) == ["first", "leaves", "last"]
    assert problem(reports["leaves"]) == ("exited", "`leaves` ended the process with status 3.", 5)
    assert reports["leaves"].problem.help == (
        "raise an exception where the layer gives up: `os._exit` ends the user's own program too."
    )
    assert reports["last"].remarks == ("2",)
    assert [e.subject for e in events if e.kind == "checking"] == ["first", "leaves", "last"]
    assert [e.kind for e in events].count("announced") == 1


@light
def test_an_endless_loop_is_stopped_at_the_limit_and_its_line_is_named(check):
    reports, _ = check("def spins():\n    while True:\n        pass\ndef last(): return 2\n")
    kind, message, line = problem(reports["spins"])
    assert (kind, message) == ("timed-out", "`spins` did not end within 1.5 s.")
    assert line in (2, 3)
    assert reports["spins"].problem.help == "`--timeout 3` gives it more time."
    assert 1.5 <= reports["spins"].seconds < 10
    assert reports["last"].remarks == ("2",)


@light
def test_a_loop_in_native_code_that_hears_no_signal_is_stopped_too(check):
    reports, _ = check(
        """
        import re, signal
        def spins():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            re.match(r"(a+)+$", "a" * 40 + "b")
        def last(): return 2
        """
    )
    assert problem(reports["spins"]) == ("timed-out", "`spins` did not end within 1.5 s.", 5)
    assert reports["last"].remarks == ("2",)


@light
def test_allocating_without_end_is_stopped_at_the_limit(check):
    reports, _ = check(
        """
        def eats():
            kept = []
            while True: kept.append(bytearray(b"x" * (1 << 22)))
        def last(): return 2
        """,
        Limits(seconds=60, memory=1 << 28),
    )
    kind, message, line = problem(reports["eats"])
    assert (kind, line) == ("out-of-memory", 4)
    assert re.fullmatch(r"`eats` used 0\.\d GiB, more than the 0\.25 GiB allowed\.", message)
    assert reports["eats"].problem.help == "`--memory 0.5` allows it more."
    assert reports["last"].remarks == ("2",)


@light
def test_memory_of_processes_that_the_subject_started_counts(check):
    reports, _ = check(
        """
        import os, time
        def eats():
            for _ in range(4):
                if os.fork() == 0:
                    kept = bytearray(b"x" * (100 << 20))
                    time.sleep(60)
            time.sleep(60)
        def last(): return 2
        """,
        Limits(seconds=60, memory=1 << 28),
    )
    assert problem(reports["eats"])[0] == "out-of-memory"
    assert reports["last"].remarks == ("2",)


@light
def test_a_fork_bomb_dies_with_all_its_children(check, tmp_path):
    reports, _ = check("import os\ndef bomb():\n    while True: os.fork()\ndef last(): return 2\n")
    kind, message, line = problem(reports["bomb"])
    assert kind == "crashed"
    assert line in (2, 3)  # of the function, where the swamped process does not tell its stack in time
    assert re.fullmatch(r"`bomb` started \d+ processes, more than the 12 allowed, and was stopped\.", message)
    assert reports["last"].remarks == ("2",)
    assert processes_of("light_worker") == []


@light
def test_a_grandchild_in_a_session_of_its_own_is_ended_too_even_as_an_orphan(check):
    mark = f"sleeper-{os.getpid()}"
    reports, _ = check(
        f"""
        import os, subprocess, sys, time
        def leaves():
            subprocess.Popen(["sh", "-c", "sleep 300; : {mark}"], start_new_session=True)
            time.sleep(0.7)
            os._exit(1)
        def stays():
            subprocess.Popen(["sh", "-c", "sleep 300; : {mark}"], start_new_session=True)
            time.sleep(300)
        """
    )
    assert [problem(reports[name])[0] for name in ("leaves", "stays")] == ["exited", "timed-out"]
    assert processes_of(mark) == []


@light
def test_a_crash_in_native_code_names_the_signal_and_the_line(check):
    reports, _ = check("import ctypes\ndef crashes():\n    ctypes.string_at(0)\ndef last(): return 2\n")
    assert problem(reports["crashes"]) == ("crashed", "`crashes` ended with the process killed by SIGSEGV.", 3)
    assert reports["last"].remarks == ("2",)


@light
def test_the_last_line_that_was_printed_before_a_crash_is_told(check):
    reports, _ = check(
        "import os\ndef crashes():\n    os.write(2, b'LLVM ERROR: out of registers\\n')\n    os.abort()\n"
    )
    assert problem(reports["crashes"]) == (
        "crashed",
        "`crashes` ended with the process killed by SIGABRT; the last it printed: LLVM ERROR: out of registers.",
        4,
    )


@light
def test_megabytes_and_garbage_on_the_output_hurt_nobody(check):
    reports, _ = check(
        """
        import os
        def shouts():
            for _ in range(20): os.write(1, b"\\xff{not json}\\n" * 100_000)
            return "done"
        def last(): return 2
        """,
        Limits(seconds=30, output=1 << 16),
    )
    assert reports["shouts"].remarks == ("done",)
    assert reports["last"].remarks == ("2",)


@light
def test_closing_the_standard_streams_hurts_nobody(check):
    reports, _ = check("import os\ndef closes():\n    for fd in (0, 1, 2): os.close(fd)\ndef last(): return 2\n")
    assert {name: report.problem for name, report in reports.items()} == {"closes": None, "last": None}


@light
def test_closing_all_files_is_an_outcome(check):
    reports, _ = check(
        "import os, time\ndef closes():\n    os.closerange(3, 200)\n    time.sleep(60)\ndef last(): return 2\n"
    )
    assert problem(reports["closes"])[:2] == (
        "crashed",
        "`closes` closed file descriptors that aren't its own, the worker's among them.",
    )
    assert reports["last"].remarks == ("2",)


@light
def test_a_process_that_the_subject_forks_can_speak_for_nobody(check):
    reports, _ = check("import os\ndef forks():\n    return os.fork() and 'parent'\ndef last(): return 2\n")
    assert {name: report.remarks for name, report in reports.items()} == {"forks": ("parent",), "last": ("2",)}


@light
def test_programs_that_the_subject_starts_have_none_of_the_pipes(check):
    source = """
        import os, subprocess, sys
        def lists():
            code = "import os; print(sorted(int(fd) for fd in os.listdir('/proc/self/fd')))"
            return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, close_fds=False).stdout
        """
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")
    reports, _ = check(source)
    # 3 is the folder that is listed.
    assert reports["lists"].remarks == ("[0, 1, 2, 3]\n",)


@light
def test_sys_exit_and_an_interrupt_are_outcomes_and_cost_no_worker(check):
    reports, _ = check(
        """
        import os, sys
        def exits(): sys.exit("enough")
        def interrupts(): raise KeyboardInterrupt
        def last(): return os.getpid()
        def later(): return os.getpid()
        """
    )
    assert problem(reports["exits"]) == ("exited", "`sys.exit('enough')` was called.", 3)
    assert problem(reports["interrupts"]) == ("crashed", "KeyboardInterrupt", 4)
    assert reports["last"].remarks == reports["later"].remarks


@light
def test_objects_that_cannot_be_shown_become_text(check):
    reports, _ = check(
        """
        import numpy as np
        from layerwright.checks.report import Finding, Report
        class Mute:
            def __str__(self): raise RuntimeError("no")
            __repr__ = __str__
        class Error(Exception):
            __str__ = __repr__ = Mute.__str__
        def raises(): raise Error()
        def odd():
            huge = Finding("r", "LW1", "note", "huge " + "x" * 10**7, got=Mute(), line=np.int64(7))
            remarks = (b"\\xff".decode("utf-8", "surrogateescape"), 2**5000, np.float32("nan"), {1: {2}})
            return Report("odd", "jax", (huge,), remarks=remarks)
        def last(): return 2
        """
    )
    assert problem(reports["raises"]) == ("crashed", "Error: <Error>", 9)
    (finding,) = reports["odd"].findings
    assert (finding.got, finding.line, type(finding.line)) == ("<Mute>", 7, int)
    assert finding.message == "huge " + "x" * 9995 + " ... (9980005 characters left out) ... " + "x" * 10_000
    surrogate, large, nan, nested = reports["odd"].remarks
    assert (surrogate, large, nested) == ("\udcff", hex(2**5000), {"1": [2]})
    assert nan != nan
    assert reports["last"].remarks == ("2",)


@light
def test_a_file_name_that_is_no_text_comes_through(check):
    reports, _ = check("import os\ndef leaves():\n    os._exit(1)\n", name=os.fsdecode(b"odd-\xff-\xc3\xa9.py"))
    assert problem(reports["leaves"]) == ("exited", "`leaves` ended the process with status 1.", 3)


@light
def test_an_import_that_raises_is_one_report_at_its_line(check):
    reports, _ = check("x = 1\nraise ValueError('broken\\nfile')\n")
    assert list(reports) == ["subjects.py"]
    assert problem(reports["subjects.py"]) == ("import-failed", "ValueError: broken", 2)


@light
def test_an_import_that_exits_crashes_or_hangs_is_one_report(check):
    reports, _ = check("import sys\nsys.exit(0)\n")
    assert problem(reports["subjects.py"]) == ("import-failed", "`sys.exit(0)` was called.", 2)
    reports, _ = check("import os\nos._exit(5)\n")
    assert problem(reports["subjects.py"]) == (
        "import-failed",
        "The import of `subjects.py` ended the process with status 5.",
        2,
    )
    reports, _ = check("import os\nos.abort()\n")
    assert problem(reports["subjects.py"])[:2] == (
        "import-failed",
        "The import of `subjects.py` ended with the process killed by SIGABRT.",
    )
    reports, _ = check("while True:\n    pass\n")
    kind, message, line = problem(reports["subjects.py"])
    assert (kind, message) == ("timed-out", "The import of `subjects.py` did not end within 1.5 s.")
    assert line in (1, 2)


@light
def test_subjects_that_are_left_when_the_second_import_fails_are_reported(check, tmp_path):
    reports, _ = check(
        f"""
        import os, pathlib
        flag = pathlib.Path({str(tmp_path / "flag")!r})
        if flag.exists(): raise RuntimeError("only once")
        def first(): return 1
        def leaves():
            flag.touch()
            os._exit(3)
        def last(): return 2
        """
    )
    assert list(reports) == ["first", "leaves", "last"]
    assert problem(reports["last"]) == ("import-failed", "RuntimeError: only once", 4)


@light
def test_a_worker_that_dies_between_two_subjects_is_replaced_but_not_for_ever(check):
    reports, _ = check(
        """
        import os, threading, time
        def _later():
            time.sleep(0.3)
            os._exit(9)
        def first():
            threading.Thread(target=_later).start()
        def second(): time.sleep(60)
        def last(): return 2
        """
    )
    assert list(reports) == ["first", "second", "last"]
    assert problem(reports["second"])[:2] == ("exited", "`second` ended the process with status 9.")
    assert reports["last"].remarks == ("2",)


@light
def test_a_class_for_which_an_example_stands_is_not_checked_again_even_by_another_worker(check):
    reports, events = check(
        """
        import os
        def example(): os._exit(1)
        def covered(): return 1
        def last(): return 2
        example.covers = "covered"
        """
    )
    assert list(reports) == ["example", "last"]
    assert [e.subject for e in events if e.kind == "covered"] == ["covered"]


@light
def test_a_subject_works_in_a_folder_of_its_own_that_is_removed(check):
    reports, _ = check(
        """
        import os, tempfile
        from layerwright.checks.report import Report
        def where():
            open('litter', 'w').close()
            return Report("where", "jax", remarks=(os.getcwd(), tempfile.mkdtemp()))
        """
    )
    work, temporary = map(Path, reports["where"].remarks)
    assert work != Path.cwd()
    assert temporary.parent.parent == work.parent
    assert not work.parent.exists()


@light
def test_each_file_gets_a_fresh_worker_that_was_started_while_the_one_before_ran(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    source = (
        "import time, psutil\ndef who():\n    time.sleep(1)\n    return psutil.Process().create_time(), time.time()\n"
    )
    targets = []
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(source)
        targets.append(Target("file", str(tmp_path / name)))
    with Pool("jax", program="light_worker") as pool:
        one, two = (eval(report.remarks[0]) for report in pool.run(targets))
    assert one[0] < two[0] < one[1] < two[1]


@light
def test_a_worker_that_cannot_import_keras_is_one_clear_error(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    monkeypatch.setenv("LIGHT_UNREADY", "1")
    with pytest.raises(WorkerError) as caught, Pool("jax", program="light_worker") as pool:
        list(pool.run([Target("file", str(tmp_path / "any.py"))]))
    assert str(caught.value) == (
        "A worker process could not import Keras on the backend `jax`.\n"
        "  Got:      ImportError: no module named 'framework'\n"
        '  Fix:      try `KERAS_BACKEND=jax python -c "import keras"`, and repair what it shows.'
    )


@light
def test_a_system_without_process_groups_gets_one_clear_error(monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(os, "name", "nt")
        patched.setattr(sys, "platform", "win32")
        with pytest.raises(WorkerError) as caught:
            Child("light_worker", "jax")
    assert str(caught.value) == (
        "layerwright cannot start worker processes on this system.\n"
        "  Expected: Linux or macOS: a worker is stopped together with all processes that it started\n"
        "  Got:      win32\n"
        "  Fix:      check in process with `layerwright.check(...)`, or run the command under WSL."
    )


PARENT = """
import signal
import sys
# Where the tests run in the background of a shell, Ctrl-C is ignored from the start.
signal.signal(signal.SIGINT, signal.default_int_handler)
from layerwright.checks.processes.pool import Pool
from layerwright.checks.targets import Target
if __name__ == "__main__":
    for report in Pool("jax", program="light_worker").run([Target("file", sys.argv[1])]):
        print(report.remarks[0], flush=True)
"""


@pytest.fixture
def parent(tmp_path, monkeypatch):
    """A process of its own that runs a pool whose second subject hangs in native code."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), *sys.path]))
    (tmp_path / "parent.py").write_text(PARENT)
    (tmp_path / "subjects.py").write_text(
        "import os, time\ndef first(): return os.getpid()\ndef second(): time.sleep(300)\n"
    )
    command = [sys.executable, str(tmp_path / "parent.py"), str(tmp_path / "subjects.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def gone(pid, seconds=10):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


@light
def test_an_interrupt_ends_all_workers(parent):
    worker = int(parent.stdout.readline())
    parent.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in parent.stderr.read()
    assert gone(worker)


@light
def test_a_worker_whose_parent_was_killed_ends_itself(parent):
    worker = int(parent.stdout.readline())
    parent.kill()
    assert gone(worker)


@light
def test_the_stack_of_the_current_thread_is_looked_at_first():
    trace = textwrap.dedent(
        f"""\
        Thread 0x00007f (most recent call first):
          File "/home/me/layers.py", line 3 in other
        Current thread 0x00007e (most recent call first):
          File "{threading.__file__}", line 9 in wait
          File "/home/me/caf\\xe9.py", line 5 in helper
          File "/home/me/layers.py", line 7 in call
        """
    )
    found = limits.innermost(trace, "/home/me/layers.py")
    assert (found.path, found.line, found.function) == ("/home/me/layers.py", 7, "call")
    assert limits.innermost(trace, None).path == "/home/me/café.py"
    assert limits.innermost("", None) is None


# ------------------------------------------------------------------------------- with the real worker
LAYERS = """
import os
import sys
import keras
import layerwright as lw

EPOCHS = int("30")

class Good(keras.layers.Layer):
    def __init__(self, units=3, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def call(self, x):
        return x * self.units

    def get_config(self):
        return {**super().get_config(), "units": self.units}

class Leaves(keras.layers.Layer):
    def call(self, x):
        os._exit(3)

class Mute(keras.layers.Layer):
    def call(self, x):
        return 2 * x

    def __repr__(self):
        raise RuntimeError("no words")

class Elsewhere(keras.layers.Layer):
    def call(self, x):
        return x + ("reloader" in str(sys.modules["__main__"].__spec__))

class Wide(keras.layers.Layer):
    def __init__(self, table, **kwargs):
        super().__init__(**kwargs)
        self.table = list(table)

    def call(self, x):
        return x * self.table[0]

    def get_config(self):
        return super().get_config()

@lw.example
def wide():
    return Wide([1.0, 2.0])

raise SystemExit("trained at import")
"""


@pytest.mark.slow
def test_a_file_of_layers_that_trains_exits_and_is_silent_is_checked_to_its_end(tmp_path, backend):
    path = tmp_path / "layers.py"
    path.write_text(LAYERS)
    events: list[Event] = []
    pool = Pool(backend, rules=["config-missing-arg", "reload-differs"])
    reports = {report.subject: report for report in pool.run(expand([str(path)]), events.append)}
    assert list(reports) == ["wide", "Good", "Leaves", "Mute", "Elsewhere"]
    assert problem(reports["Leaves"]) == ("exited", "`Leaves` ended the process with status 3.", 22)
    assert [r.problem for name, r in reports.items() if name != "Leaves"] == [None] * 4
    assert {f.rule for f in reports["wide"].findings} == {"config-missing-arg"}
    assert [o.rule for o in reports["Good"].outcomes] == ["config-missing-arg", "reload-differs"]
    # Every worker asks the one process for reloading that the pool keeps.
    assert [f.message for name in ("Good", "Mute", "Elsewhere") for f in reports[name].findings] == [
        "`Elsewhere` computes something else after it was saved and loaded in another process."
    ]
    assert [e.subject for e in events if e.kind == "covered"] == ["Wide"]
    assert {r.backend for r in reports.values()} == {backend}
    json.dumps([r.to_dict() for r in reports.values()])


@pytest.mark.slow
def test_given_inputs_are_used_instead_of_guessed_ones(tmp_path, backend):
    from layerwright.checks.subject import Spec

    path = tmp_path / "layers.py"
    path.write_text(
        "import keras\nclass Width(keras.layers.Layer):\n    def call(self, x):\n"
        "        raise ValueError(f'{x.shape[-1]} columns of {keras.backend.standardize_dtype(x.dtype)}')\n"
    )
    pool = Pool(backend, rules=["config-missing-arg"], inputs=[Spec((None, 17), "int32")])
    (report,) = pool.run(expand([str(path)]))
    assert report.problem.kind == "call-failed"
    assert "ValueError: 17 columns of int32" in report.problem.message


@pytest.mark.slow
def test_inputs_of_a_rank_that_the_layer_refuses_are_told_from_a_faulty_layer(tmp_path, backend):
    from layerwright.checks.subject import Spec

    path = tmp_path / "layers.py"
    path.write_text(
        "import keras\nclass Last(keras.layers.Layer):\n    def call(self, x):\n"
        "        batch, time, width = x.shape\n        return x[:, -1]\n"
    )
    pool = Pool(backend, rules=["config-missing-arg"], inputs=[Spec((None, 17), "int32")])
    (report,) = pool.run(expand([str(path)]))
    assert (report.problem.kind, report.problem.line) == ("inputs-refused", 4)
    assert "with int32 (2, 17) raises ValueError: not enough values to unpack" in report.problem.message


@pytest.mark.slow
def test_what_a_subject_changes_in_keras_does_not_reach_the_next_one(tmp_path, backend):
    path = tmp_path / "layers.py"
    path.write_text(
        "import keras\nclass Patch(keras.layers.Layer):\n    def call(self, x):\n"
        "        keras.layers.Layer.__call__ = None\n        return x\n"
        "class After(keras.layers.Layer):\n    def call(self, x):\n        return 3 * x\n"
    )
    patch, after = Pool(backend, rules=["config-missing-arg"]).run(expand([str(path)]))
    assert patch.problem.kind == "call-failed"
    said = "It changes `keras.layers.Layer.__call__`, and what comes after it is checked in a new process."
    assert said in patch.remarks
    assert (after.subject, after.problem) == ("After", None)
