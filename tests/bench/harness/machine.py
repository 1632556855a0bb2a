"""The machine and the versions that a results file belongs to."""

import functools
import hashlib
import os
import pathlib
import platform
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
# What a measurement of Weft depends on: a commit that touches none of them keeps the points measured before.
SOURCES = ["agent", "cli", "cmake", "common", "coordinator", "proto", "examples/*.yaml", "CMakeLists.txt", "CMakePresets.json",
           "tests/bench/harness/weft.py"]
OPPONENT = ["ddp.py", "fashion.py", "harness/opponent.py"]


@functools.cache
def weft_version():
    """The newest commit that touched Weft's sources, and a hash of what was changed since."""
    def git(*arguments):
        return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True, text=True).stdout

    commit = git("log", "-1", "--format=%h", "--", *SOURCES).strip()
    changes = git("diff", "HEAD", "--", *SOURCES)
    return commit + ("+" + hashlib.sha256(changes.encode()).hexdigest()[:8] if changes else "")


@functools.cache
def opponent_version():
    """A hash of the programs that drive PyTorch."""
    code = b"".join((ROOT / "tests/bench" / name).read_bytes() for name in OPPONENT)
    return "ddp-" + hashlib.sha256(code).hexdigest()[:8]


def version_of(settings):
    return opponent_version() if settings["system"] == "ddp" else weft_version()


def describe():
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace"))
    release = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
    return {"processor": cpu.group(1) if cpu else platform.machine(), "cores": os.cpu_count(),
            "kernel": platform.release(), "system": re.search(r'PRETTY_NAME="(.*)"', release).group(1),
            "load_at_start": os.getloadavg()[0], "weft": weft_version()}
