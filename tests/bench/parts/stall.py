"""Stall: what an iteration takes beyond compute, by strategy, model, number of workers and rate of the links.

Workers replay the timelines of four published architectures (examples/timelines/make_timeline.py): they sleep 100 ms an
iteration, dealt to the layers by their multiplications, and send real bytes over shaped links. The weights are divided so
that at 100 Mb/s the model of 8 workers holds the server's link for LOAD times the compute; a link and a model a hundred
times as large behave alike, and two cores stand for eight GPUs. At FOURFOLD_LOAD MergedPS takes four times as long as
compute alone.
"""

from statistics import median

from harness import figures, page

TITLE = "Stall"
MINUTES = 48
QUICK_MINUTES = 2
COMPUTE_MS = 100
LOAD = 4
FOURFOLD_LOAD = 2
JOB = "examples/replay.yaml"
HOSTS = 9
MODELS = ["resnet50", "vgg16", "bert-large", "gpt2-small"]
BLOCKS = 20
PAYLOAD = 1448 / 1514  # of a full Ethernet frame of TCP with time stamps: the rates count all of it

INTERLEAVED = {"strategy.type": "InterleavedPS"}


def interleaved(period, **fields):
    settings = {**INTERLEAVED, "strategy.parameterServer.period": period, "strategy.parameterServer.fusion": "PerLayer"}
    return settings | {f"strategy.parameterServer.{name}": value for name, value in fields.items()}


STRATEGIES = {
    "MergedPS": {"strategy.type": "MergedPS"},
    "BulkSynchronousPS": {"strategy.type": "BulkSynchronousPS"},
    "InterleavedPS": INTERLEAVED,
    "AllReduce": {"strategy.type": "AllReduce"},
    "LocalSGD": {"strategy.type": "LocalSGD"},
    "DPSGD": {"strategy.type": "DPSGD"},
    "ADPSGD": {"strategy.type": "ADPSGD"},
    "SGP": {"strategy.type": "SGP"},
    "Swarm": {"strategy.type": "Swarm"},
    "Auto": {"strategy.type": "Auto"},
}
# The two ideas of interleaving apart and together, and without admission.
INTERLEAVING = {
    "T = 1, intra only": interleaved(1),
    "T = 8, inter only": interleaved(8, admission=False),
    "T = 4": interleaved(4), "T = 5": interleaved(5), "T = 6": interleaved(6), "T = 8": interleaved(8),
    "T = 4, no admission": interleaved(4, admission=False), "T = 5, no admission": interleaved(5, admission=False),
    "T = 6, no admission": interleaved(6, admission=False), "T = 8, no admission": interleaved(8, admission=False),
}
NO_SLOTS = {"T = 8, inter only"}
MAIN = ["MergedPS", "InterleavedPS", "AllReduce", "LocalSGD", "DPSGD", "Swarm", "Auto"]


def megabits(rate):
    return float(rate.removesuffix("gbit")) * 1000 if rate.endswith("gbit") else float(rate.removesuffix("mbit"))


def weights(rate, load=LOAD):
    """So many that 8 workers' models hold a link of this rate for `load` times the compute."""
    return int(megabits(rate) * 1e6 * load * COMPUTE_MS * 1e-3 / 32 / 8)


class Case:
    """One table: a timeline, workers, the links, and the strategies in it. `scaled_for`: the rate its size belongs to.

    `load_of_8`: how many times the compute the models of 8 workers hold the server's link at that rate.
    """

    def __init__(self, model, workers, rate, strategies, scaled_for="100mbit", blocks=None, repetitions=2,
                 load_of_8=LOAD):
        self.model, self.workers, self.rate, self.scaled_for = model, workers, rate, scaled_for
        self.strategies, self.blocks, self.repetitions = strategies, blocks, repetitions
        self.load_of_8 = load_of_8

    def load(self):
        """How many times the compute the server's link takes for all workers' models."""
        return self.load_of_8 * self.workers / 8 * megabits(self.scaled_for) / megabits(self.rate)

    def title(self):
        blocks = f" in {self.blocks} blocks" if self.blocks else ""
        return f"{TITLE}: {self.model}{blocks}, {self.workers} workers, {self.rate} (load {self.load():g})"

    def settings(self, name, repetition, quick):
        overrides = {**self.strategies[name], "worker.replicas": self.workers}
        long = self.load() > 10 and name not in ("InterleavedPS", "Swarm", "Auto")
        overrides["training.iterations"] = 16 if long else 24 if quick else 48
        return {"system": "weft", "name": name, "case": self.title(), "bed": {"hosts": HOSTS, "rate": self.rate},
                "repetition": repetition, "seconds": 300, "job": JOB, "set": overrides, "workers": self.workers,
                "timeline": [self.model, COMPUTE_MS, weights(self.scaled_for, self.load_of_8), self.blocks],
                "no_slots": name in NO_SLOTS}


def some(names):
    return {name: STRATEGIES[name] for name in names}


def cases(quick):
    if quick:
        return [Case("resnet50", 8, "100mbit", some(["MergedPS", "AllReduce", "Auto"]) |
                     {name: INTERLEAVING[name] for name in ("T = 4", "T = 8")}, blocks=BLOCKS, repetitions=1)]
    main = [Case("resnet50", 8, "100mbit", some(["MergedPS", "AllReduce", "Auto"]) | INTERLEAVING, blocks=BLOCKS,
                 repetitions=3, load_of_8=FOURFOLD_LOAD),
            Case("resnet50", 8, "100mbit", STRATEGIES | INTERLEAVING, blocks=BLOCKS),
            Case("resnet50", 8, "1gbit", some(["MergedPS", "AllReduce", "Swarm", "Auto"]) |
                 {name: INTERLEAVING[name] for name in ("T = 8", "T = 8, no admission")}, scaled_for="1gbit",
                 blocks=BLOCKS, repetitions=3)]
    main += [Case(model, workers, "100mbit", some(MAIN), repetitions=2 if workers == 8 else 1)
             for model in MODELS for workers in (8, 4, 2)]
    return main + [Case("resnet50", 8, rate, some(MAIN)) for rate in ("1gbit", "300mbit", "30mbit", "10mbit")]


def run(bench, part=None):
    """`part`: under whose name the points are kept, where another part reads these."""
    for case in cases(bench.quick):
        for repetition in range(case.repetitions):
            for name in case.strategies:
                bench.point(case.settings(name, repetition, bench.quick), part)


def by_name(points, case):
    """{strategy: {repetition: values}} of a case."""
    found = {}
    for point in points:
        settings = point["settings"]
        if settings["case"] == case.title():
            found.setdefault(settings["name"], {})[settings["repetition"]] = point
    return {name: found[name] for name in case.strategies if name in found}


def each(runs, value):
    return {repetition: value(point["values"]) for repetition, point in runs.items()}


def report(points_of, quick):
    points = points_of("stall")
    sections = []
    for case in cases(quick):
        found = by_name(points, case)
        if not found:
            continue
        lines, bars = [], []
        for name, runs in found.items():
            over_compute = figures.Ratio(each(runs, lambda v: v["iteration_us"]), each(runs, lambda v: v["compute_us"]))
            server = [v["server"] for v in (p["values"] for p in runs.values()) if "server" in v]
            picked = next(iter(runs.values()))["values"]
            shown = f"{name}: {picked['strategy']}" if name == "Auto" else name
            lines.append([shown, picked["period"], str(over_compute),
                          figures.significant(bound(case, runs) if server else None),
                          f"{1e-6 * median(each(runs, lambda v: v['bytes_per_iteration']).values()) / 2:.2f}",
                          f"{1e-6 * max(s['peak_bytes_per_second'] for s in server):.2f}" if server else "",
                          f"{100 * median(s['concurrent_share'] for s in server):.1f} %" if server else "",
                          f"{100 * median(s['busy_share'] for s in server):.0f} %" if server else "",
                          figures.significant(median(each(runs, lambda v: v['predicted_us'] / v['iteration_us']).values()))])
            bars.append((shown, over_compute))
        sections.append(page.Section(
            case.title(),
            head=["strategy", "T, H", "iteration ÷ compute", "max(compute, busiest link) ÷ compute",
                  "MB sent / iteration", "peak at the server (MB/s)", "more than one transfer", "server's link busy",
                  "predicted ÷ measured"],
            rows=lines, plot=page.bars(bars, "iteration ÷ compute"),
            commands=[(name, next(iter(runs.values()))["command"]) for name, runs in found.items()]))
    return sections


def bound(case, runs):
    """What no order of transfers gets below: compute, or the time that the server's link takes for the bytes counted.

    Those are sent and received by all workers: half of them in each direction.
    """
    def least(values):
        link = 8e6 * values["bytes_per_iteration"] / 2 / PAYLOAD / (1e6 * megabits(case.rate))
        return max(values["compute_us"], link) / values["compute_us"]

    return median(each(runs, least).values())
