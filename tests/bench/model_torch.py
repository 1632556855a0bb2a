#!/usr/bin/python3
"""A training step of PyTorch on one thread, next to `weft bench model`'s, in turns.

    /usr/bin/python3 tests/bench/model_torch.py [--weft build/release/bin/weft] [--models lenet,resnet20] [--rounds 5]

Needs Debian's python3-torch and libopenblas0-pthread. Prints the median of the rounds, and the ratio. Without --weft it
times PyTorch alone.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))

import torch
import torch.nn.functional as F

import torch_models

torch.set_num_threads(1)


def make(name):
    """The model, and a function from a batch size to its inputs and targets."""
    images = lambda *shape: lambda n: (torch.randn(n, *shape), torch.randint(0, 10, (n,)))
    if name == "mlp":
        return torch_models.Mlp(784, [1024, 512], 10), images(1, 28, 28), 1
    if name == "lenet":
        return torch_models.LeNet(1, 28, 28, 10), images(1, 28, 28), 1
    if name == "resnet20":
        return torch_models.ResNet20(3, 10), images(3, 32, 32), 1
    if name == "transformer":
        tokens = lambda n: (torch.randint(0, 256, (n, 128)), torch.randint(0, 256, (n, 128)))
        return torch_models.Transformer(4, 128, 4, 128), tokens, 128
    sys.exit(f"unknown model {name}")


def torch_rate(name, batch, seconds):
    """Images or tokens per second: forward, loss and backward, without the optimizer."""
    model, sample, predictions = make(name)
    inputs, targets = sample(batch)

    def step():
        for p in model.parameters():
            p.grad = None
        logits = model(inputs)
        F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)).backward()

    for _ in range(3):
        step()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return batch * predictions / statistics.median(times)


def weft_rate(weft, name, batch, seconds):
    out = subprocess.run([weft, "bench", "model", "--model", name, "--batch", str(batch), "--seconds", str(seconds),
                          "--json"], check=True, capture_output=True, text=True).stdout
    return json.loads(out)["models"][0]["per_second"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weft")
    parser.add_argument("--models", default="mlp,lenet,resnet20,transformer")
    parser.add_argument("--batch", type=int, default=0, help="0: 64, and 8 for the transformer")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    for name in options.models.split(","):
        batch = options.batch or (8 if name == "transformer" else 64)
        rates = {"torch": [], "weft": []}
        for _ in range(options.rounds):
            rates["torch"].append(torch_rate(name, batch, options.seconds))
            if options.weft:
                rates["weft"].append(weft_rate(options.weft, name, batch, options.seconds))
        line = f"{name:12} batch {batch:3}  torch {statistics.median(rates['torch']):10.0f}/s"
        if options.weft:
            ratio = statistics.median(w / t for w, t in zip(rates["weft"], rates["torch"]))
            line += f"  weft {statistics.median(rates['weft']):10.0f}/s  weft/torch {ratio:.2f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
