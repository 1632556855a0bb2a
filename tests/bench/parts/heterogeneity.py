"""Heterogeneity: each strategy where one worker computes half as fast, and where one link has a quarter of the rate."""

from harness import figures, page
from parts import stall

TITLE = "One slow worker, one slow link"
MINUTES = 13
QUICK_MINUTES = 1
RATE = "100mbit"
SLOW_LINK = {"1": "25mbit"}
CASES = {"even": {}, "one worker 2× slower": {"slow_worker": 2}, "one link 4× slower": {"host_rates": SLOW_LINK}}
QUICK = ["AllReduce", "InterleavedPS"]


def run(bench):
    for repetition in range(1 if bench.quick else 2):
        for case, changed in CASES.items():
            for name in QUICK if bench.quick else stall.STRATEGIES:
                bed = {"hosts": stall.HOSTS, "rate": RATE}
                if "host_rates" in changed:
                    bed["host_rates"] = changed["host_rates"]
                overrides = {**stall.STRATEGIES[name], "worker.replicas": 8,
                             "training.iterations": 24 if bench.quick else 48}
                bench.point({"system": "weft", "name": name, "case": case, "bed": bed, "repetition": repetition,
                             "seconds": 300, "job": stall.JOB, "set": overrides,
                             "timeline": ["resnet50", stall.COMPUTE_MS, stall.weights(RATE), stall.BLOCKS],
                             "slow_worker": changed.get("slow_worker", 1)})


def report(points_of, quick):
    found, picked = {}, {}
    for p in points_of("heterogeneity"):
        settings = p["settings"]
        found.setdefault((settings["name"], settings["case"]), {})[settings["repetition"]] = p
    rows, commands = [], []
    for name in stall.STRATEGIES:
        even = found.get((name, "even"))
        if not even:
            continue
        base = stall.each(even, throughput)
        cells = [f"{figures.significant(1e-3 * figures.median(stall.each(even, lambda v: v['iteration_us'])))}"]
        for case in list(CASES)[1:]:
            runs = found.get((name, case))
            cells.append(str(figures.Ratio(stall.each(runs, throughput), base)) if runs else "–")
            cells.append(next(iter(runs.values()))["values"]["strategy"] if runs and name == "Auto" else "")
            if runs:
                commands.append((f"{name}, {case}", next(iter(runs.values()))["command"]))
        rows.append([name, *cells])
    if not rows:
        return []
    cases = [cell for case in list(CASES)[1:] for cell in (f"{case}: throughput ÷ even", "picked")]
    return [page.Section(TITLE, text=f"ResNet-50 in {stall.BLOCKS} blocks, 8 workers, {RATE}. Throughput: all workers' "
                         "iterations a second.", head=["strategy", "iteration, even (ms)", *cases], rows=rows,
                         commands=commands)]


def throughput(values):
    return sum(1e6 / us for us in values["worker_iteration_us"])
