"""Time to accuracy: how long until a model has learned Fashion-MNIST to 88 %, by strategy and link, against PyTorch.

Where the weights after so many iterations do not depend on the links (all but Swarm and ADPSGD), the time is the
iterations to 88 % of an unshaped run times the median iteration over shaped links. InterleavedPS and Auto learn by the
plan that they made for those links. Swarm and ADPSGD run whole over shaped links. Each strategy has the learning rate of
three that needs the fewest epochs with seed 1, unshaped; the schedule is constant behind one epoch of warm-up.
"""

from statistics import median

from harness import figures, page

TITLE = "Time to accuracy on Fashion-MNIST"
MINUTES = 105
QUICK_MINUTES = 4
TARGET, QUICK_TARGET = 0.88, 0.86
WORKERS = 4
LEARNING_RATES = [0.05, 0.1, 0.02]
MAX_EPOCHS = 15
ASYNCHRONOUS = ("Swarm", "ADPSGD")  # what their weights are depends on when messages come
JOB = "examples/fashion-mnist-mlp.yaml"
MODELS = {
    "mlp": {"model": "{name: mlp, mlp: {hiddenSizes: [1024, 640]}}"},
    "lenet": {"model": "{name: lenet}"},
}


class Variant:
    """`like`: the variant whose weights this one's are, to rounding. `rate_of`: the one whose learning rate it takes.

    `planned`: it learns by the plan for its links.
    """

    def __init__(self, system, settings, period=1, like=None, rate_of=None, planned=False):
        self.system, self.settings, self.period = system, settings, period
        self.like, self.rate_of, self.planned = like, rate_of, planned


def _weft(strategy, like=None, rate_of=None, period=1, planned=False, **fields):
    settings = {"strategy.type": strategy}
    settings.update({"strategy." + path.replace("__", "."): value for path, value in fields.items()})
    return Variant("weft", settings, like=like, rate_of=rate_of, period=period,
                   planned=planned)


def _ddp(method, like=None, rate_of=None, period=1, **arguments):
    return Variant("ddp", {"method": method, **arguments}, period=period, like=like, rate_of=rate_of)


VARIANTS = {
    "DDP": _ddp("none"),
    "DDP, buckets of 1 MB": _ddp("none", like="DDP", **{"bucket-mb": 1}),
    "DDP, buckets of 4 MB": _ddp("none", like="DDP", **{"bucket-mb": 4}),
    "DDP, fp16": _ddp("fp16", rate_of="DDP"),
    "DDP, PowerSGD": _ddp("powersgd", **{"bucket-mb": 1024}),
    "DDP, PostLocalSGD, H = 4": _ddp("postlocal", period=4),
    "DDP, PostLocalSGD, H = 8": _ddp("postlocal", period=8, rate_of="DDP, PostLocalSGD, H = 4"),
    "AllReduce": _weft("AllReduce"),
    "LocalSGD, H = 4": _weft("LocalSGD", period=4, localSGD__localSteps=4),
    "LocalSGD, H = 8": _weft("LocalSGD", period=8, rate_of="LocalSGD, H = 4", localSGD__localSteps=8),
    "BulkSynchronousPS": _weft("BulkSynchronousPS", like="AllReduce"),
    "MergedPS": _weft("MergedPS", like="AllReduce"),
    "InterleavedPS": _weft("InterleavedPS", planned=True),
    "Swarm, H = 4": _weft("Swarm", swarm__localSteps=4),
    "DPSGD": _weft("DPSGD"),
    "SGP": _weft("SGP"),
    "ADPSGD": _weft("ADPSGD"),
    "Auto": _weft("Auto", planned=True),
}
# What is measured elsewhere than with mlp at 100 Mb/s.
MAIN = ["DDP", "DDP, fp16", "DDP, PostLocalSGD, H = 4", "AllReduce", "LocalSGD, H = 4", "InterleavedPS", "Swarm, H = 4",
        "Auto"]
QUICK = ["DDP", "AllReduce", "InterleavedPS"]
# Iterations of a run over shaped links, by rate: plain DDP takes 7 s for one at 10 Mb/s. A plan may have a period of 32.
ITERATIONS = {"10mbit": 8, "100mbit": 36, "1gbit": 60}
PLANNED_ITERATIONS = 128
# One iteration of these takes several times as long as AllReduce's, and each the same.
LONG, LONG_SHARE = ("MergedPS", "BulkSynchronousPS", "DPSGD"), 1 / 3


def grid(quick):
    """(model, rate, variants), the ones that matter most first."""
    if quick:
        return [("mlp", "100mbit", QUICK)]
    return [("mlp", "100mbit", list(VARIANTS)), ("lenet", "100mbit", MAIN), ("mlp", "1gbit", MAIN),
            ("mlp", "10mbit", MAIN)]


def seeds(model, quick):
    return [1] if quick or model == "lenet" else [1, 2, 3]


def settings_of(name, model, bed, repetition, seed, learning_rate, iterations=0, target=TARGET, epochs=MAX_EPOCHS,
                plan_of=None):
    """A point's settings; with `iterations` it ends after those, else at the target or after `epochs`."""
    variant = VARIANTS[name]
    common = {"name": name, "model": model, "bed": bed, "repetition": repetition, "system": variant.system,
              "start": [model, seed], "seconds": 1500}
    if variant.system == "ddp":
        arguments = {"model": model, "seed": seed, "rate": learning_rate, "period": variant.period,
                     **variant.settings}
        arguments |= {"iterations": iterations} if iterations else {"epochs": epochs, "target": target}
        return common | {"workers": WORKERS, "arguments": arguments, "period": variant.period}
    overrides = {**variant.settings, **MODELS[model], "worker.replicas": WORKERS, "training.seed": seed,
                 "training.optimizer.learningRate": learning_rate,
                 "training.schedule": "{type: Constant, warmupEpochs: 1}"}
    if iterations:
        overrides["training.iterations"] = iterations
    else:
        overrides |= {"training.epochs": epochs, "training.targetAccuracy": target}
    return common | {"job": JOB, "set": overrides, "plan_of": plan_of}


def bed_of(rate):
    return {"hosts": WORKERS + 1, "rate": rate}


def shaped(bench, name, model, rate, repetition):
    variant = VARIANTS[name]
    iterations = int(ITERATIONS[rate] * (LONG_SHARE if bench.quick or name in LONG else 1))
    iterations = PLANNED_ITERATIONS if variant.planned else max(iterations, 4 * variant.period)
    return bench.point(settings_of(name, model, bed_of(rate), repetition, 1, 0.05, iterations))


def target_of(quick):
    return QUICK_TARGET if quick else TARGET


def reached(point):
    """The epoch at which a run reached its target, or None."""
    return figures.first_at_least(point["values"]["epochs"], target_in(point["settings"]))


def target_in(settings):
    """The accuracy that ends a run with these settings; None where it ends after so many iterations."""
    return settings["arguments"].get("target") if settings["system"] == "ddp" \
        else settings["set"].get("training.targetAccuracy")


def learn(bench, name, model, seed, learning_rate, epochs, plan_of):
    return bench.point(settings_of(name, model, None, 0, seed, learning_rate, target=target_of(bench.quick),
                                   epochs=epochs, plan_of=plan_of))


def chosen_rate(bench, name, model, plan_of):
    """The learning rate whose run reaches the target first; where none does, that of the highest accuracy."""
    best, epochs = None, MAX_EPOCHS
    for learning_rate in LEARNING_RATES[:1] if bench.quick else LEARNING_RATES:
        point = learn(bench, name, model, 1, learning_rate, epochs, plan_of)
        if point is None:
            continue
        at = reached(point)
        rank = (at["epoch"] if at else MAX_EPOCHS + 1, -(point["values"]["accuracy"] or 0))
        if best is None or rank < best[0]:
            best = (rank, learning_rate)
        if at:
            epochs = min(epochs, at["epoch"])  # a rate that needs more is not chosen
    return best[1] if best else None


def run(bench):
    for model, rate, names in grid(bench.quick):
        repetitions = 1 if bench.quick else 2 if rate == "10mbit" else 3
        for repetition in range(repetitions):
            for name in names:
                shaped(bench, name, model, rate, repetition)
        for name in names:
            variant, first = VARIANTS[name], shaped(bench, name, model, rate, 0)
            if variant.like or first is None:
                continue
            plan_of = first["key"] if variant.planned else None
            learning_rate = chosen_rate(bench, variant.rate_of or name, model, plan_of)
            if learning_rate is None:
                continue
            for seed in seeds(model, bench.quick):
                if first["values"].get("strategy") in ASYNCHRONOUS:
                    bench.point(settings_of(name, model, bed_of(rate), 0, seed, learning_rate,
                                            target=target_of(bench.quick), plan_of=plan_of))
                else:
                    learn(bench, name, model, seed, learning_rate, MAX_EPOCHS, plan_of)


def rows(points, quick):
    """[{"model", "rate", "name", "iteration_us", "iterations": [by seed], "seconds": [by seed], …}] of what is there."""
    out = []
    for model, rate, names in grid(quick):
        here = [p for p in points if p["settings"]["model"] == model]
        on_bed = [p for p in here if p["settings"]["bed"] == bed_of(rate)]
        for name in names:
            variant = VARIANTS[name]
            row = {"model": model, "rate": rate, "name": name, "iteration_us": {}, "iterations": [], "seconds": [],
                   "learning_rate": None, "period": None}
            own = [p for p in on_bed if p["settings"]["name"] == name]
            timed = [p for p in own if not target_in(p["settings"])]
            for p in timed:
                row["iteration_us"][p["settings"]["repetition"]] = p["values"]["iteration_us"]
                row["command"], row["values"] = p["command"], p["values"]
                row["period"] = p["values"].get("period", variant.period)
            if not timed:
                continue
            whole = row["values"].get("strategy") in ASYNCHRONOUS
            learner = variant.like or name
            plans = {p["key"] for p in timed} | {None}
            runs = best_runs([p for p in (own if whole else here) if target_in(p["settings"])
                              and p["settings"]["name"] == learner and (whole or p["settings"]["bed"] is None)
                              and p["settings"].get("plan_of") in plans])
            for seed in sorted(runs):
                at = reached(runs[seed])
                row["learning_rate"] = learning_rate_of(runs[seed])
                row["iterations"].append(at["iteration"] if at else None)
                row["seconds"].append(None if not at else at["seconds"] if whole
                                      else 1e-6 * at["iteration"] * median(row["iteration_us"].values()))
            out.append(row)
    return out


def learning_rate_of(point):
    settings = point["settings"]
    return settings["arguments"]["rate"] if settings["system"] == "ddp" \
        else settings["set"]["training.optimizer.learningRate"]


def best_runs(points):
    """{seed: point} at the learning rate that `chosen_rate` chose."""
    def rank(point):
        at = reached(point)
        return (at["epoch"] if at else MAX_EPOCHS + 1, -(point["values"]["accuracy"] or 0))

    first_seed = [p for p in points if p["settings"]["start"][1] == 1]
    if not first_seed:
        return {}
    learning_rate = learning_rate_of(min(first_seed, key=rank))
    return {p["settings"]["start"][1]: p for p in points if learning_rate_of(p) == learning_rate}


def report(points_of, quick):
    points = points_of("accuracy")
    sections = []
    goal = f"{100 * target_of(quick):.0f} %"
    table = rows(points, quick)
    for model, rate, _ in grid(quick):
        here = [row for row in table if (row["model"], row["rate"]) == (model, rate)]
        base = next((row for row in here if row["name"] == "DDP"), None)
        if base is None:
            continue
        lines, bars = [], []
        for row in here:
            speed = times_faster(base, row)
            iteration = figures.Ratio(row["iteration_us"], base["iteration_us"])
            lines.append([row["name"], row["period"] or "", row["learning_rate"] or "",
                          f"{1e-3 * median(row['iteration_us'].values()):.1f}", str(iteration),
                          "/".join(str(n or "over") for n in row["iterations"]),
                          figures.significant(middle(row["seconds"])), str(speed or "–"),
                          f"{1e-6 * row['values']['bytes_per_iteration'] / WORKERS / 2:.2f}",
                          overhead(row)])
            if speed:
                bars.append((row["name"], speed))
        sections.append(page.Section(
            f"{TITLE}: {model}, {rate}",
            head=["strategy", "T, H", "learning rate", "iteration (ms)", "÷ DDP's", f"iterations to {goal}, by seed",
                  f"time to {goal} (s)", "times faster than DDP", "MB sent / worker and iteration", "iteration ÷ compute"],
            rows=lines, plot=page.bars(bars, f"times faster to {goal} than DDP") if bars else None,
            commands=[(row["name"], row["command"]) for row in here]))
    return sections + same_start(points)


def overhead(row):
    compute = row["values"].get("compute_us")
    return figures.significant(row["values"]["iteration_us"] / compute) if compute else "–"


def middle(values):
    """The median, or None when most of the runs have none."""
    known = sorted(value if value is not None else float("inf") for value in values)
    return None if not known or median(known) == float("inf") else median(known)


def times_faster(base, row):
    pairs = {seed: (b, r) for seed, (b, r) in enumerate(zip(base["seconds"], row["seconds"])) if b and r}
    if not pairs:
        return None
    return figures.Ratio({seed: b for seed, (b, _) in pairs.items()}, {seed: r for seed, (_, r) in pairs.items()})


def same_start(points):
    """Whether both programs train the same thing: the losses of the first ten iterations of seed 1, side by side."""
    def losses(name):
        return next((p["values"]["first_losses"] for p in points
                     if p["settings"]["name"] == name and p["settings"]["start"] == ["mlp", 1]), [])

    pairs = list(zip(losses("DDP"), losses("AllReduce")))
    if not pairs:
        return []
    apart = max(abs(a - b) for a, b in pairs)
    return [page.Section("Both train the same", text=f"The losses of worker 0's first {len(pairs)} batches under DDP and "
                         f"under AllReduce differ by at most {apart:.1e}.")]
