#!/usr/bin/env python3
"""What Swarm costs beside compute, by the number of nodes, and what a node that stands still costs the others.

  tests/bench/swarm_nodes.py [--weft build/release/bin/weft] [--out build/swarm-nodes] [--transport Auto|TCP]
                             [--nodes 1,2,4,8,16] [--iterations 200] [--stop-seconds 10]

First table: examples/replay-swarm.yaml (10^6 weights, steps of 100 ms, H = 4, 8 bits) with each number of nodes; the
median over nodes of each one's mean iteration, against a single node's, which exchanges nothing. Second: with 8 nodes
node 3 is stopped (SIGSTOP) and continued; the other nodes' iterations while it stood still against those before, and
how many interactions it took until it was averaged with again. Needs nothing but Python's standard library.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

STOPPED = 3


def command(options, directory, nodes, iterations):
    return [options.weft, "run", "examples/replay-swarm.yaml", "--out", str(directory),
            "--set", f"worker.replicas={nodes}", "--set", f"training.iterations={iterations}",
            "--set", f"network.transport={options.transport}"]


def iterations_of(directory):
    """{rank: [(start in seconds, iteration in seconds)]}, the first second of a run left out."""
    nodes = {}
    with open(directory / "metrics.jsonl", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if "rank" in record and "iteration_us" in record and record["iteration"] > 10:
                nodes.setdefault(record["rank"], []).append((1e-9 * record["start_ns"], 1e-6 * record["iteration_us"]))
    return nodes


def rank_pid(directory, rank):
    """The process of a rank of the run that writes to `directory`."""
    for process in pathlib.Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            environment = (process / "environ").read_bytes().split(b"\0")
            name = (process / "comm").read_text().strip()
            log = os.readlink(process / "fd" / "2")
        except OSError:
            continue
        if name.startswith("weft-agent") and f"OMPI_COMM_WORLD_RANK={rank}".encode() in environment:
            return int(process.name)
    sys.exit(f"rank {rank} of {directory} was not found")


def cost_table(options):
    print("| nodes | iteration (ms) | ÷ compute alone | Mbit / node and iteration | registers |")
    print("|---|---|---|---|---|")
    alone = None
    for nodes in options.nodes:
        directory = options.out / f"{options.transport}-{nodes}"
        shutil.rmtree(directory, ignore_errors=True)
        subprocess.run(command(options, directory, nodes, options.iterations), check=True, stdout=subprocess.DEVNULL)
        means = [statistics.mean(seconds for _, seconds in node) for node in iterations_of(directory).values()]
        iteration = statistics.median(means)
        alone = alone or iteration
        summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
        bits = 1e-6 * summary["exchanged_bits"] / nodes / summary["iterations"]
        print(f"| {nodes} | {1e3 * iteration:.2f} | {iteration / alone:.4f} | {bits:.2f} | "
              f"{summary.get('registers', {}).get('mechanism', '')} |", flush=True)


def stop_one(options):
    directory = options.out / f"{options.transport}-stop"
    shutil.rmtree(directory, ignore_errors=True)
    run = subprocess.Popen(command(options, directory, 8, 400), stdout=subprocess.DEVNULL)
    metrics = directory / "metrics.jsonl"
    while not (metrics.exists() and len(metrics.read_bytes().splitlines()) > 8 * 60):
        if run.poll() is not None:
            sys.exit(f"the run ended with {run.returncode}")
        time.sleep(0.2)
    pid = rank_pid(directory, STOPPED)
    os.kill(pid, signal.SIGSTOP)
    stopped = time.monotonic()
    time.sleep(options.stop_seconds)
    os.kill(pid, signal.SIGCONT)
    continued = time.monotonic()
    if run.wait() != 0:
        sys.exit(f"the run ended with {run.returncode}")
    print(f"\nnode {STOPPED} stopped for {continued - stopped:.1f} s")
    print("| node | iteration before (ms) | while it stood still (ms) | ratio | longest (ms) |")
    print("|---|---|---|---|---|")
    for rank, node in sorted(iterations_of(directory).items()):
        if rank == STOPPED:
            continue
        before = statistics.mean(s for start, s in node if start + s < stopped)
        meanwhile = [s for start, s in node if stopped <= start and start + s < continued]
        print(f"| {rank} | {1e3 * before:.2f} | {1e3 * statistics.mean(meanwhile):.2f} | "
              f"{statistics.mean(meanwhile) / before:.4f} | {1e3 * max(meanwhile):.1f} |")
    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    print(f"interactions: {summary.get('interactions')}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--weft", default="build/release/bin/weft")
    arguments.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/swarm-nodes"))
    arguments.add_argument("--transport", default="Auto")
    arguments.add_argument("--nodes", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2, 4, 8, 16])
    arguments.add_argument("--iterations", type=int, default=200)
    arguments.add_argument("--stop-seconds", type=float, default=10)
    options = arguments.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    cost_table(options)
    stop_one(options)


if __name__ == "__main__":
    main()
