"""Running PyTorch's DDP, one process a rank, each in its host."""

import json
import statistics

from harness import figures, processes
from harness.machine import ROOT

PORT = 29555
PYTHON = "/usr/bin/python3"  # Debian's, which has python3-torch


def run(bed, world, arguments, seconds, warm_share=0.25, period=1):
    """The command of rank 0, and the values of a point. `arguments`: {option of ddp.py: value}."""
    common = [word for name, value in arguments.items() for word in (f"--{name}", str(value))]
    commands = []
    for rank in range(world):
        own = [PYTHON, str(ROOT / "tests/bench/ddp.py"), "--rank", str(rank), "--world", str(world), "--master",
               f"{bed.address(0)}:{PORT}", "--interface", bed.interface, *common]
        commands.append(bed.on(rank, own))
    ranks = [json.loads(text.splitlines()[-1]) for text in processes.run_all(commands, seconds)]
    if not all(any("openblas" in path for path in rank["blas"]) for rank in ranks):
        raise processes.Failed(f"PyTorch runs on {ranks[0]['blas']}, not on OpenBLAS; install libopenblas0-pthread")
    own = [figures.window_medians(rank["iteration_us"][int(len(rank["iteration_us"]) * warm_share):], period)
           for rank in ranks]
    values = {
        "iteration_us": max(own), "worker_iteration_us": own, "iterations": ranks[0]["iterations"],
        "seconds": 1e-6 * sum(ranks[0]["iteration_us"]),
        "bytes_per_iteration": sum(rank["bytes_per_iteration"] for rank in ranks),
        "iteration_us_p95": statistics.quantiles(ranks[0]["iteration_us"], n=20)[-1],
        "epochs": ranks[0]["epochs"], "first_losses": ranks[0]["losses"],
        "accuracy": ranks[0]["epochs"][-1]["accuracy"] if ranks[0]["epochs"] else None,
        "torch": ranks[0]["torch"], "blas": ranks[0]["blas"], "torch_config": ranks[0]["config"],
    }
    return commands[0], values
