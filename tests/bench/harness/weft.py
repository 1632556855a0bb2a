"""Running Weft and reading what it wrote."""

import json
import shutil
import statistics
import threading
import time

from harness import figures, processes


def command(weft, job, overrides, options):
    line = [weft, "run", job]
    for path, value in overrides.items():
        line += ["--set", f"{path}={value if isinstance(value, str) else json.dumps(value)}"]
    return line + list(options)


class Stop:
    """Stops a host's processes in mid-run and lets them go on.

    `command`: from "stop" or "cont" to the command that does it. The host is that of the rank of its number; it stops
    once rank 0 has told `after_iterations` iterations.
    """

    def __init__(self, command, host, after_iterations, seconds):
        self.command, self.host, self.after, self.seconds = command, host, after_iterations, seconds
        self.from_ns = self.to_ns = 0

    def watch(self, metrics, over):
        """`over`: an event that is set when the run has ended."""
        while not (metrics.exists() and f'{{"iteration":{self.after},' in metrics.read_text(encoding="utf-8")):
            if over.wait(0.1):
                return
        processes.run(self.command("stop"), 30)
        self.from_ns = time.monotonic_ns()
        over.wait(self.seconds)
        self.to_ns = time.monotonic_ns()
        processes.run(self.command("cont"), 30)

    def effect(self, workers):
        """{rank: the mean iteration while the host stood still over that before, and the longest} of the others."""
        out = {}
        for rank, lines in workers.items():
            times = [(r["start_ns"], r["start_ns"] + 1e3 * r["iteration_us"], r["iteration_us"]) for r in lines[5:]]
            before = [us for _, end, us in times if end < self.from_ns]
            meanwhile = [us for start, end, us in times if start >= self.from_ns and end < self.to_ns]
            if rank != self.host and before and meanwhile:
                out[rank] = {"ratio": statistics.mean(meanwhile) / statistics.mean(before),
                             "longest_ms": 1e-3 * max(meanwhile)}
        return out


def run(line, directory, seconds, warm_share=0.25, keep_plan=None, stop=None):
    """Trains into `directory`, which is removed again, and returns the values of a point; `keep_plan`: a file to be."""
    shutil.rmtree(directory, ignore_errors=True)
    over = threading.Event()
    watcher = threading.Thread(target=stop.watch, args=(directory / "metrics.jsonl", over)) if stop else None
    try:
        if watcher:
            watcher.start()
        processes.run([*line, "--out", str(directory)], seconds)
        if keep_plan:
            shutil.copyfile(directory / "plan.json", keep_plan)
        values = values_of(directory, warm_share)
        if stop:
            over.set()
            watcher.join()
            values["stopped"] = stop.effect(records(directory)[0])
        return values
    finally:
        over.set()
        if watcher:
            watcher.join()
        shutil.rmtree(directory, ignore_errors=True)


def records(directory):
    """The lines of metrics.jsonl: a worker's iterations {rank: [record]}, and the evaluations."""
    workers, evaluations = {}, []
    with open(directory / "metrics.jsonl", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if "evaluation" in record:
                evaluations.append(record)
            elif "iteration_us" in record:
                workers.setdefault(record["rank"], []).append(record)
    return workers, evaluations


def values_of(directory, warm_share):
    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    workers, evaluations = records(directory)
    period = max(1, summary["period"] or 1)
    times = {rank: [record["iteration_us"] for record in lines] for rank, lines in workers.items()}
    per_worker = {rank: figures.window_medians(own[int(len(own) * warm_share):], period) for rank, own in times.items()}
    origin = min(lines[0]["start_ns"] for lines in workers.values())
    values = {
        # The slowest worker's: that of a synchronous strategy is everybody's.
        "iteration_us": max(per_worker.values()),
        "worker_iteration_us": [round(per_worker[rank], 1) for rank in sorted(per_worker)],
        "compute_us": 1e6 * summary["compute_seconds"]["median"],
        "predicted_us": 1e6 * (summary["predicted_iteration_seconds"] or 0),
        "stall_us": statistics.mean(r["stall_us"] for lines in workers.values() for r in lines),
        "bytes_per_iteration": summary["bytes_per_iteration"],
        "strategy": summary["strategy"], "period": summary["period"], "local_steps": summary["local_steps"],
        "seconds": summary["seconds"], "iterations": summary["iterations"], "accuracy": summary["accuracy"],
        "worst_accuracy": summary["worst_accuracy"], "transport": summary["transport"],
        "first_losses": [record["loss"] for record in workers[0][:10]],
        "epochs": [{"epoch": e["epoch"], "iteration": e["iteration"], "accuracy": e["evaluation"]["accuracy"],
                    "loss": e["evaluation"]["loss"],
                    "seconds": seconds_at(workers, e["iteration"], origin)} for e in evaluations if not e["final"]],
    }
    if summary["server_links"]:
        busy = sum(link["busy_seconds"] for link in summary["server_links"])
        values["server"] = {
            "busy_share": busy / summary["seconds"] / len(summary["server_links"]),
            "concurrent_share": sum(link["concurrent_seconds"] for link in summary["server_links"])
                                / summary["seconds"] / len(summary["server_links"]),
            "peak_bytes_per_second": max(link["peak_bytes_per_second"] for link in summary["server_links"]),
        }
    return values


def seconds_at(workers, iteration, origin):
    """From the first iteration's start until the last worker has ended `iteration`."""
    ends = [1e-9 * (record["start_ns"] - origin) + 1e-6 * record["iteration_us"]
            for lines in workers.values() for record in lines if record["iteration"] == iteration]
    return max(ends, default=None)
