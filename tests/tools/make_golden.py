#!/usr/bin/python3
"""Writes tests/agent/model/golden.json: ten training steps of each model, as PyTorch takes them.

    /usr/bin/python3 tests/tools/make_golden.py

Needs Debian's python3-torch; the tests that read the file do not. Weights and batches come from the counter-based
generator of agent/model/random.h, written down here a second time, so that the file holds results only: the loss of each
step, and of each tensor after the last its sum, its Euclidean norm and a few of its values. All in double precision, so
that the differences seen in the tests are Weft's own rounding.
"""
import json
import math
import os

import numpy as np
import torch
import torch.nn.functional as F

import torch_models

STEPS = 10
LEARNING_RATE = 0.05
# Over many steps a deep network amplifies every ReLU that rounding turns on or off; small steps keep that small.
RESNET_LEARNING_RATE = 0.002
SEED = 7
STEP = np.uint64(0x9E3779B97F4A7C15)


def mix(z):
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniform_signed(seed, stream, first, count):
    """CounterRandom(seed, stream).UniformSigned(first ... first + count - 1)."""
    with np.errstate(over="ignore"):
        key = mix(mix(np.array([seed], np.uint64) + STEP) + np.uint64(stream))
        index = np.arange(first, first + count, dtype=np.uint64)
        bits = (mix(key + (index + np.uint64(1)) * STEP) >> np.uint64(40)).astype(np.int32)
    return (bits - (1 << 23)).astype(np.float32) * np.float32(2.0**-23)


def bound(name, tensor, model):
    """The bound of the uniform distribution, or the constant as (value,), as Weft's constructors have them."""
    modules = dict(model.named_modules())
    module = modules[name.rpartition(".")[0]]
    kind = type(module).__name__
    if kind in ("BatchNorm2d", "LayerNorm"):
        return (1.0,) if name.endswith(("weight", "running_var")) else (0.0,)
    if kind == "Embedding":
        return 0.02 * math.sqrt(3.0)
    weight = module.weight
    fan_in = weight[0].numel()
    if isinstance(model, torch_models.ResNet20) and kind == "Conv2d":
        return math.sqrt(6.0 / fan_in)
    return 1.0 / math.sqrt(fan_in)


def initialize(model):
    for stream, (name, tensor) in enumerate(torch_models.parameters_in_order(model)):
        b = bound(name, tensor, model)
        if isinstance(b, tuple):
            tensor.fill_(b[0])
        else:
            values = np.float32(b) * uniform_signed(SEED, stream, 0, tensor.numel())
            tensor.copy_(torch.from_numpy(values.reshape(tensor.shape).astype(np.float64)))


def below(values, limit):
    return ((values + np.float32(1)) * np.float32(0.5) * np.float32(limit)).astype(np.int64)


def batch(seed, size, dimensions, classes):
    count = size * math.prod(dimensions)
    inputs = uniform_signed(seed, 0, 0, count).reshape(size, *dimensions)
    labels = below(uniform_signed(seed, 0, count, size), classes)
    return torch.from_numpy(inputs.astype(np.float64)), torch.from_numpy(labels)


def text_batch(seed, size, context):
    count = size * (context + 1)
    tokens = torch.from_numpy(below(uniform_signed(seed, 0, 0, count), 256).reshape(size, context + 1))
    return tokens[:, :-1], tokens[:, 1:]


def run(model, batches, learning_rate=LEARNING_RATE):
    model = model.double()
    with torch.no_grad():
        initialize(model)
    losses = []
    for inputs, targets in batches:
        for p in model.parameters():
            p.grad = None
        logits = model(inputs)
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for p in model.parameters():
                p -= learning_rate * p.grad
    model.eval()
    with torch.no_grad():
        inputs, targets = batches[0]
        logits = model(inputs)
        evaluation = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)).item()
    tensors = []
    for name, t in torch_models.parameters_in_order(model):
        flat = t.detach().flatten()
        samples = [flat[i].item() for i in range(0, flat.numel(), max(1, flat.numel() // 8))][:8]
        tensors.append({"name": name, "shape": list(t.shape), "sum": flat.sum().item(), "norm": flat.norm().item(),
                        "samples": samples})
    return {"losses": losses, "evaluation": evaluation, "tensors": tensors}


def round_numbers(value):
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {k: round_numbers(v) for k, v in value.items()}
    if isinstance(value, list):
        return [round_numbers(v) for v in value]
    return value


def main():
    images = lambda size, dims, classes: [batch(100 + i, size, dims, classes) for i in range(STEPS)]
    text = [text_batch(100 + i, 3, 12) for i in range(STEPS)]
    golden = {
        "mlp": run(torch_models.Mlp(64, [32, 16], 10), images(9, (1, 8, 8), 10)),
        "lenet": run(torch_models.LeNet(1, 28, 28, 10), images(5, (1, 28, 28), 10)),
        "resnet20": run(torch_models.ResNet20(3, 10), images(6, (3, 8, 8), 10), RESNET_LEARNING_RATE),
        "transformer": run(torch_models.Transformer(2, 16, 2, 12), text),
    }
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "agent", "model", "golden.json")
    with open(path, "w") as out:
        out.write("{\n")
        for i, (name, value) in enumerate(golden.items()):
            out.write(f'"{name}": {json.dumps(round_numbers(value))}{"," if i + 1 < len(golden) else ""}\n')
        out.write("}\n")


if __name__ == "__main__":
    main()
