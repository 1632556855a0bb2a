"""Scale: how long planner and simulator take for 10 to 1,000 workers, and Swarm on 2 to 32 real ranks."""

from statistics import median

from harness import figures, page
from parts import stall

TITLE = "Scale"
MINUTES = 10
QUICK_MINUTES = 1
WORKERS = [10, 32, 100, 320, 1000]
STRATEGIES = ["InterleavedPS", "MergedPS", "AllReduce", "LocalSGD", "DPSGD", "SGP", "ADPSGD", "Swarm"]
SIMULATION_SECONDS = 30  # a simulation that takes longer is ended, and told as such
NODES = [1, 2, 4, 8, 16, 32]
JOB = "examples/replay-swarm.yaml"
STOP = {"host": 3, "after_iterations": 40, "seconds": 10}


def planning(bench, workers, strategy, tool):
    return bench.point({"system": "planner", "name": f"{tool} {strategy}, {workers} workers", "bed": None,
                        "repetition": 0, "seconds": SIMULATION_SECONDS, "tool": tool, "strategy": strategy,
                        "workers": workers, "timeline": ["gpt2-small", 100, 1_000_000, None]})


def swarm(bench, nodes, repetition, stop=None):
    overrides = {"worker.replicas": nodes, "training.iterations": 160 if stop else 80}
    return bench.point({"system": "weft", "name": f"Swarm, {nodes} nodes" + (", one stopped" if stop else ""),
                        "nodes": nodes, "bed": {"hosts": 32, "rate": "1gbit"}, "repetition": repetition,
                        "seconds": 300, "job": JOB, "set": overrides, "stop": stop})


def run(bench):
    for workers in WORKERS[:2] if bench.quick else WORKERS:
        planning(bench, workers, "auto", "plan")
        for strategy in STRATEGIES:
            planning(bench, workers, strategy, "simulate")
    for repetition in range(1 if bench.quick else 2):
        for nodes in NODES[:3] if bench.quick else NODES:
            swarm(bench, nodes, repetition)
    if not bench.quick:
        swarm(bench, 8, 0, STOP)


def report(points_of, quick):
    points = points_of("scale")
    return [section for section in (planner_section(points), swarm_section(points), stopped_section(points)) if section]


def planner_section(points):
    found = {}
    for p in points:
        settings = p["settings"]
        if settings["system"] == "planner":
            found[settings["tool"], settings["strategy"], settings["workers"]] = p["values"]
    if not found:
        return None
    rows = []
    for workers in sorted({key[2] for key in found}):
        took = [found.get(("plan", "auto", workers))] + [found.get(("simulate", s, workers)) for s in STRATEGIES]
        rows.append([workers] + ["–" if v is None else f"over {SIMULATION_SECONDS}" if v["seconds"] is None
                                 else f"{v['seconds']:.2f}" for v in took])
    series = {s: [(w, found["simulate", s, w]["seconds"]) for w in sorted({k[2] for k in found})
                  if found.get(("simulate", s, w), {}).get("seconds")] for s in STRATEGIES}
    return page.Section(f"{TITLE}: seconds to plan and to simulate", text="GPT-2 small, links of 1 Gb/s, a server to 8 "
                        "workers; `weft plan --strategy auto`, and `weft simulate` of each strategy.",
                        head=["workers", "plan, Auto", *STRATEGIES], rows=rows,
                        plot=page.lines({n: v for n, v in series.items() if v}, "workers", "seconds to simulate", True,
                                        True))


def swarm_section(points):
    by_nodes = {}
    for p in points:
        if p["settings"].get("nodes") and not p["settings"].get("stop"):
            by_nodes.setdefault(p["settings"]["nodes"], {})[p["settings"]["repetition"]] = p
    alone = by_nodes.get(1)
    if not alone:
        return None
    base = stall.each(alone, lambda v: median(v["worker_iteration_us"]))
    rows, commands = [], []
    for nodes, runs in sorted(by_nodes.items()):
        own = stall.each(runs, lambda v: median(v["worker_iteration_us"]))
        megabits = 8e-6 * median(stall.each(runs, lambda v: v["bytes_per_iteration"]).values()) / 2 / nodes
        rows.append([nodes, f"{1e-3 * figures.median(own):.2f}", str(figures.Ratio(own, base)), f"{megabits:.2f}"])
        commands.append((f"{nodes} nodes", next(iter(runs.values()))["command"]))
    return page.Section(f"{TITLE}: Swarm by nodes, 1 Gb/s", text="10⁶ weights, steps of 100 ms, H = 4, 8 bits; the median "
                        "node.", head=["nodes", "iteration (ms)", "÷ one node's", "Mbit / node and iteration"], rows=rows,
                        commands=commands)


def stopped_section(points):
    stopped = [p for p in points if p["settings"].get("stop")]
    if not stopped:
        return None
    values = stopped[-1]["values"]["stopped"]
    rows = [[rank, figures.significant(v["ratio"]), f"{v['longest_ms']:.0f}"] for rank, v in sorted(values.items())]
    return page.Section(f"{TITLE}: a node of 8 that stands still for {STOP['seconds']} s", head=[
        "node", "mean iteration meanwhile ÷ before", "longest (ms)"], rows=rows,
        commands=[("run", stopped[-1]["command"])])
