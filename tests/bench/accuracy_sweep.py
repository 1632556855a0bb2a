#!/usr/bin/env python3
"""Accuracy of the interleaved parameter server against synchronous training, for docs/results.md.

For each model and each of MergedPS and InterleavedPS with T = 1, 4 and 8: the best learning rate of {0.02, 0.05, 0.1}
after 5 epochs with the first seed, then 15 epochs with that rate and every seed. The schedule is constant, so that the
first 5 of 15 epochs are a run of 5. Finished runs are kept in OUT and not repeated.

  tests/bench/accuracy_sweep.py --weft build/release/bin/weft --out build/accuracy [--models mlp,lenet] [--seeds 1,2,3]

Prints the table in Markdown. Needs nothing but Python's standard library and the data set.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

VARIANTS = {
    "MergedPS": ["strategy.type=MergedPS"],
    "InterleavedPS, T = 1": ["strategy.type=InterleavedPS", "strategy.parameterServer.period=1"],
    "InterleavedPS, T = 4": ["strategy.type=InterleavedPS", "strategy.parameterServer.period=4"],
    "InterleavedPS, T = 8": ["strategy.type=InterleavedPS", "strategy.parameterServer.period=8"],
}
MODELS = {
    "mlp": ["model={name: mlp, mlp: {hiddenSizes: [256, 128]}}"],
    "lenet": ["model={name: lenet}"],
}
RATES = ["0.02", "0.05", "0.1"]
SHORT, LONG = 5, 15


def run(weft, job, directory, overrides):
    """The accuracy after each epoch; trains unless `directory` holds the finished run."""
    summary = directory / "summary.json"
    if not summary.exists():
        command = [weft, "run", job, "--out", str(directory)]
        for override in overrides:
            command += ["--set", override]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    accuracy = {}
    with open(directory / "metrics.jsonl", encoding="utf-8") as lines:
        for line in lines:
            if '"evaluation"' not in line:
                continue
            record = json.loads(line)
            if not record["final"]:
                accuracy[record["epoch"]] = record["evaluation"]["accuracy"]
    return [accuracy[epoch] for epoch in sorted(accuracy)]


def mean_and_spread(values):
    return f"{100 * statistics.mean(values):.2f} ± {100 * statistics.stdev(values) if len(values) > 1 else 0:.2f}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--weft", default="build/release/bin/weft")
    arguments.add_argument("--job", default="examples/fashion-mnist.yaml")
    arguments.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/accuracy"))
    arguments.add_argument("--models", default="mlp,lenet")
    arguments.add_argument("--seeds", default="1,2,3")
    options = arguments.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    seeds = options.seeds.split(",")

    print("| model | strategy | best rate | after 5 epochs (%) | after 15 epochs (%) | epochs to MergedPS's 15-epoch mean |")
    print("|---|---|---|---|---|---|")
    for model in options.models.split(","):
        target = None
        for variant, strategy in VARIANTS.items():
            def train(rate, seed, epochs):
                name = f"{model}-{variant.replace(', T = ', '-T')}-rate{rate}-seed{seed}-epochs{epochs}"
                return run(options.weft, options.job, options.out / name,
                           MODELS[model] + strategy +
                           [f"training.epochs={epochs}", f"training.seed={seed}",
                            f"training.optimizer.learningRate={rate}",
                            "training.schedule={type: Constant, warmupEpochs: 1}"])

            rate = max(RATES, key=lambda r: train(r, seeds[0], SHORT)[-1])
            curves = [train(rate, seed, LONG) for seed in seeds]
            mean_curve = [statistics.mean(epoch) for epoch in zip(*curves)]
            if target is None:
                target = mean_curve[LONG - 1]
            reached = next((str(e + 1) for e, accuracy in enumerate(mean_curve) if accuracy >= target), f"over {LONG}")
            print(f"| {model} | {variant} | {rate} | {mean_and_spread([c[SHORT - 1] for c in curves])} | "
                  f"{mean_and_spread([c[LONG - 1] for c in curves])} | {reached} |", flush=True)


if __name__ == "__main__":
    main()
