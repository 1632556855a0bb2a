"""Starting programs with a deadline, alone or one a rank, and ending them with all that they started."""

import contextlib
import os
import signal
import subprocess
import tempfile
import time

GRACE_SECONDS = 10


class Failed(Exception):
    """A program that failed, or did not end by its deadline. The message names the command and what it last said."""


class TooLong(Failed):
    """It did not end by its deadline."""


def end(process):
    """TERM to the process's session, then KILL."""
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, signal_number)
        except ProcessLookupError:
            break
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def run_all(commands, seconds, environment=None):
    """Runs the commands side by side and returns what each wrote to its standard output.

    Failed: one ended with another code than 0, which ends the others at once, or the time was over.
    """
    with contextlib.ExitStack() as files:
        outputs = [[files.enter_context(tempfile.TemporaryFile("w+")) for _ in range(2)] for _ in commands]
        running = _run_to_the_end(commands, outputs, seconds, environment)
        texts = []
        for command, process, (out, errors) in zip(commands, running, outputs):
            out.seek(0)
            errors.seek(0)
            if process.returncode not in (0, -signal.SIGTERM):
                raise Failed(f"{' '.join(command)}: exit code {process.returncode}\n{errors.read()[-2000:]}")
            texts.append(out.read())
    if any(process.returncode != 0 for process in running):
        raise Failed(f"{' '.join(commands[0])}: one of {len(commands)} was ended")
    return texts


def _run_to_the_end(commands, outputs, seconds, environment):
    deadline = time.monotonic() + seconds
    running = []
    try:
        for command, (out, errors) in zip(commands, outputs):
            running.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors,
                                            start_new_session=True, env={**os.environ, **(environment or {})}))
        while any(process.poll() is None for process in running):
            if time.monotonic() > deadline:
                raise TooLong(f"{' '.join(commands[0])}: not over after {seconds:.0f} s")
            if any(process.poll() not in (None, 0) for process in running):
                break
            time.sleep(0.02)
    finally:
        for process in running:
            if process.poll() is None:
                end(process)
    return running


def run(command, seconds, environment=None):
    return run_all([command], seconds, environment)[0]
