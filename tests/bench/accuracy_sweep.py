#!/usr/bin/env python3
"""Accuracy of the strategies against synchronous training, for docs/results.md.

For each line of a table: the best learning rate of {0.02, 0.05, 0.1} after 5 epochs with the first seed, then 15 epochs
with that rate and every seed. The schedule is constant, so that the first 5 of 15 epochs are a run of 5; in the table
"label-skew", where accuracy swings until the rate has fallen, it is cosine. The first line of each model is the
baseline. Finished runs are kept in OUT and not repeated.

  tests/bench/accuracy_sweep.py --table servers|swarm|label-skew [--weft build/release/bin/weft] [--out build/accuracy]
                                [--models mlp,lenet] [--seeds 1,2,3]

Prints the table in Markdown. Needs nothing but Python's standard library and the data set.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys

MODELS = {
    "mlp": ["model={name: mlp, mlp: {hiddenSizes: [256, 128]}}"],
    "lenet": ["model={name: lenet}"],
}
SWARM = ["strategy.type=Swarm"]
INTERLEAVED = ["strategy.type=InterleavedPS"]
ALL_REDUCE = ["strategy.type=AllReduce"]
LOCAL_SGD = ["strategy.type=LocalSGD", "strategy.localSGD.localSteps=2"]
SKEWED = ["data.partition={type: LabelSkew}"]


def swarm(steps, bits=8, topology="Complete"):
    return SWARM + [f"strategy.swarm.localSteps={steps}", f"strategy.swarm.quantization.bits={bits}",
                    f"strategy.swarm.topology={{type: {topology}}}"]


# The example that the runs start from, and the lines by model.
TABLES = {
    "servers": ("examples/fashion-mnist.yaml", {model: {
        "MergedPS": ["strategy.type=MergedPS"],
        "InterleavedPS, T = 1": INTERLEAVED + ["strategy.parameterServer.period=1"],
        "InterleavedPS, T = 4": INTERLEAVED + ["strategy.parameterServer.period=4"],
        "InterleavedPS, T = 8": INTERLEAVED + ["strategy.parameterServer.period=8"],
    } for model in MODELS}),
    "swarm": ("examples/fashion-mnist-swarm.yaml", {
        "lenet": {
            "AllReduce": ALL_REDUCE,
            "Swarm, H = 2, 8 bits": swarm(2),
            "Swarm, H = 4, 8 bits": swarm(4),
        },
        "mlp": {
            "AllReduce": ALL_REDUCE,
            "Swarm, H = 2, 8 bits": swarm(2),
            "Swarm, H = 2, 4 bits": swarm(2, bits=4),
            "Swarm, H = 2, 8 bits, ring": swarm(2, topology="Ring"),
            "Swarm, H = 2, 8 bits, hypercube": swarm(2, topology="Hypercube"),
        },
    }),
    "label-skew": ("examples/fashion-mnist-swarm.yaml", {
        "mlp": {
            "AllReduce": ALL_REDUCE + SKEWED,
            "LocalSGD, H = 2": LOCAL_SGD + SKEWED,
            "Swarm, H = 1, 8 bits": swarm(1) + SKEWED,
            "Swarm, H = 2, 8 bits": swarm(2) + SKEWED,
            "Swarm, H = 2, 8 bits, any lead": swarm(2) + ["strategy.swarm.maxLead=0"] + SKEWED,
        },
    }),
}
RATES = ["0.02", "0.05", "0.1"]
SHORT, LONG = 5, 15


class Run:
    """A finished run's accuracy after each epoch, and its summary."""

    def __init__(self, directory):
        self.summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
        accuracy = {}
        with open(directory / "metrics.jsonl", encoding="utf-8") as lines:
            for line in lines:
                if '"evaluation"' not in line:
                    continue
                record = json.loads(line)
                if not record["final"]:
                    accuracy[record["epoch"]] = record["evaluation"]["accuracy"]
        self.accuracy = [accuracy[epoch] for epoch in sorted(accuracy)]


def train(weft, job, directory, overrides):
    """Trains unless `directory` holds the finished run."""
    if not (directory / "summary.json").exists():
        command = [weft, "run", job, "--out", str(directory)]
        for override in overrides:
            command += ["--set", override]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return Run(directory)


def percent(values):
    spread = 100 * statistics.stdev(values) if len(values) > 1 else 0
    return f"{100 * statistics.mean(values):.2f} ± {spread:.2f}"


def worst(runs):
    """The worst single node's; where all nodes hold the same model there is none."""
    values = [run.summary.get("worst_accuracy") for run in runs]
    return "=" if None in values else percent(values)


def epochs_to(target, curve):
    return next((str(e + 1) for e, accuracy in enumerate(curve) if accuracy >= target), f"over {LONG}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--table", choices=list(TABLES), required=True)
    arguments.add_argument("--weft", default="build/release/bin/weft")
    arguments.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/accuracy"))
    arguments.add_argument("--models", default="")
    arguments.add_argument("--seeds", default="1,2,3")
    options = arguments.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    seeds = options.seeds.split(",")
    job, lines = TABLES[options.table]
    schedule = "Cosine" if options.table == "label-skew" else "Constant"

    print("| model | strategy | rate | after 5 epochs (%) | after 15 epochs (%) | worst node (%) | epochs to match | "
          "compute / batch (ms) | communication / batch (ms) | Mbit / node | time (s) |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for model in options.models.split(",") if options.models else lines:
        target = None
        for variant, strategy in lines[model].items():
            def run(rate, seed, epochs):
                slug = re.sub(r"[^a-z0-9]+", "-", variant.lower())
                name = f"{options.table}-{model}-{slug}-rate{rate}-seed{seed}-epochs{epochs}"
                return train(options.weft, job, options.out / name,
                             MODELS[model] + strategy +
                             [f"training.epochs={epochs}", f"training.seed={seed}",
                              f"training.optimizer.learningRate={rate}",
                              f"training.schedule={{type: {schedule}, warmupEpochs: 1}}"])

            rate = max(RATES, key=lambda r: run(r, seeds[0], SHORT).accuracy[-1])
            runs = [run(rate, seed, LONG) for seed in seeds]
            curve = [statistics.mean(epoch) for epoch in zip(*(r.accuracy for r in runs))]
            if target is None:
                target = curve[LONG - 1]

            def median(value):
                return statistics.median(value(r.summary) for r in runs)

            print(f"| {model} | {variant} | {rate} | {percent([r.accuracy[SHORT - 1] for r in runs])} | "
                  f"{percent([r.accuracy[LONG - 1] for r in runs])} | "
                  f"{worst(runs)} | {epochs_to(target, curve)} | "
                  f"{1e3 * median(lambda s: s['compute_per_batch_seconds']):.2f} | "
                  f"{1e3 * median(lambda s: s['communication_per_batch_seconds']):.2f} | "
                  f"{median(lambda s: 1e-6 * s['exchanged_bits'] / s['workers']):.0f} | "
                  f"{median(lambda s: s['seconds']):.0f} |", flush=True)


if __name__ == "__main__":
    main()
