#!/usr/bin/env python3
"""Next-byte loss of a small transformer under AllReduce and under Swarm after the same number of tokens.

  tests/bench/text_loss.py [--weft build/release/bin/weft] [--out build/text-loss] [--seeds 1,2,3] [--iterations 2000]

The text is the manual of Perl's functions (perlfunc.pod of Debian's package perl-doc, 400 kB). For each strategy the
best learning rate of three with the first seed, then that rate with every seed. Finished runs are kept in OUT and not
repeated. Prints the table in Markdown. Needs nothing but Python's standard library and the text.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys

TEXT = "/usr/share/perl/5.36/pod/perlfunc.pod"
WORKERS, BATCH, CONTEXT = 4, 16, 64
STRATEGIES = {
    "AllReduce": ["strategy.type=AllReduce"],
    "Swarm, H = 2, 8 bits": ["strategy.swarm.localSteps=2"],
}
RATES = ["0.004", "0.006", "0.008"]


def run(options, directory, strategy, rate, seed):
    """The summary; trains unless `directory` holds the finished run."""
    summary = directory / "summary.json"
    if not summary.exists():
        settings = strategy + [
            f"worker.replicas={WORKERS}", f"data={{format: Text, path: {TEXT}}}",
            f"model={{name: transformer, transformer: {{layers: 2, width: 64, heads: 4, context: {CONTEXT}}}}}",
            f"training={{iterations: {options.iterations}, batchSizePerWorker: {BATCH}, seed: {seed}, "
            f"optimizer: {{type: AdamW, learningRate: {rate}}}}}"]
        command = [options.weft, "run", "examples/fashion-mnist-swarm.yaml", "--out", str(directory)]
        for setting in settings:
            command += ["--set", setting]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(summary.read_text(encoding="utf-8"))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--weft", default="build/release/bin/weft")
    arguments.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/text-loss"))
    arguments.add_argument("--seeds", default="1,2,3")
    arguments.add_argument("--iterations", type=int, default=2000)
    options = arguments.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    seeds = options.seeds.split(",")
    tokens = options.iterations * WORKERS * BATCH * CONTEXT
    print(f"| strategy | rate | loss after {tokens / 1e6:.1f} million tokens (nats a byte) | ÷ AllReduce | Mbit / node |")
    print("|---|---|---|---|---|")
    baseline = None
    for name, strategy in STRATEGIES.items():
        def trained(rate, seed):
            slug = re.sub(r"[^a-z0-9]+", "-", name.lower())
            return run(options, options.out / f"{slug}-rate{rate}-seed{seed}", strategy, rate, seed)

        rate = min(RATES, key=lambda r: trained(r, seeds[0])["loss"])
        runs = [trained(rate, seed) for seed in seeds]
        losses = [r["loss"] for r in runs]
        mean = statistics.mean(losses)
        baseline = baseline or mean
        bits = statistics.median(1e-6 * r["exchanged_bits"] / r["workers"] for r in runs)
        spread = statistics.stdev(losses) if len(losses) > 1 else 0
        print(f"| {name} | {rate} | {mean:.4f} ± {spread:.4f} | {mean / baseline:.4f} | {bits:.0f} |", flush=True)


if __name__ == "__main__":
    main()
