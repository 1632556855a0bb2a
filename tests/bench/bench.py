#!/usr/bin/python3
"""Measures Weft against its opponents and writes the report. docs/benchmarks.md says what each part means.

    tests/bench/bench.py [PART…] [--quick] [--out build/bench] [--weft build/release/bin/weft] [--report-only]
                         [--minutes N]

Writes OUT/results.json point by point, OUT/report.html and OUT/report.md. What is there already, of the same settings
and commit, is not measured again: a part that was stopped, or whose time was over, goes on where it was. Ends with 1
when a measurement failed. Needs root for the test-bed, and the packages of [bench] in scripts/packages.txt.
"""

import argparse
import fcntl
import importlib
import os
import pathlib
import signal
import sys
import time

from harness import machine, page
from harness.bench import Bench, BudgetSpent
from harness.results import Results

PARTS = ["links", "stall", "prediction", "choice", "heterogeneity", "scale", "accuracy"]


def stop(_signal, _frame):
    sys.exit(130)


def write_report(results, out, quick):
    sections = []
    for name in PARTS:
        part = importlib.import_module(f"parts.{name}")
        sections += part.report(lambda other: results.points(other, machine.version_of), quick)
    description = results.data["machine"]
    for point in results.data["points"]:
        if point["values"].get("torch_config"):
            description["torch_config"] = point["values"]["torch_config"]
            description["blas"] = ", ".join(point["values"]["blas"])
    (out / "report.html").write_text(page.to_html(description, sections), encoding="utf-8")
    (out / "report.md").write_text(page.to_markdown(sections), encoding="utf-8")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; default: all")
    arguments.add_argument("--quick", action="store_true", help="few points, one repetition: under ten minutes")
    arguments.add_argument("--out", type=pathlib.Path, default=machine.ROOT / "build/bench")
    arguments.add_argument("--weft", type=pathlib.Path, default=machine.ROOT / "build/release/bin/weft")
    arguments.add_argument("--minutes", type=float, help="a part's time budget in place of its own")
    arguments.add_argument("--report-only", action="store_true", help="measure nothing")
    options = arguments.parse_args()
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        arguments.error(f"there is no part {unknown[0]}; there are {', '.join(PARTS)}")
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    lock = open(options.out / "lock", "w", encoding="ascii")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"another run writes to {options.out}")
    signal.signal(signal.SIGTERM, stop)
    os.chdir(machine.ROOT)
    results = Results(options.out / ("quick.json" if options.quick else "results.json"))
    results.data["machine"] = machine.describe()
    chosen = options.parts or PARTS
    bench = Bench(results, options.out, str(options.weft.resolve()), options.quick,
                  lambda text: print(text, flush=True))
    try:
        for name in [] if options.report_only else chosen:
            part = importlib.import_module(f"parts.{name}")
            minutes = options.minutes or (part.QUICK_MINUTES if options.quick else part.MINUTES)
            print(f"{name}: up to {minutes:.0f} minutes", flush=True)
            begun = time.monotonic()
            bench.begin(name, minutes)
            try:
                part.run(bench)
            except BudgetSpent as spent:
                print(f"  {spent}; run it again for what is missing", flush=True)
            finally:
                bench.close()
            print(f"{name}: {(time.monotonic() - begun) / 60:.1f} minutes", flush=True)
    finally:
        write_report(results, options.out, options.quick)
    print(f"{options.out / 'report.html'}")
    sys.exit(1 if bench.failures else 0)


if __name__ == "__main__":
    main()
