"""Weft's data and starting weights for a PyTorch program: the same samples, order, scale and weights.

The order of an epoch is that of agent/data/shuffle.cc and loader.h (IID), the scale that of image_dataset.cc, the file
of weights safetensors (docs/format/safetensors.md). tests/bench/harness_test.py holds the order against known values,
and the accuracy part compares the first losses of both programs.
"""

import gzip
import json
import pathlib

import numpy as np

STEP = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def mix64(z):
    """common/math/mix64.h, on a Python integer."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def epoch_order(seed, epoch, count):
    """The samples of `epoch` (from 0) in Weft's order: Fisher-Yates with draws by counter."""
    key = mix64((mix64((seed + STEP) & MASK) + STEP * (epoch + 1)) & MASK)
    order = list(range(count))
    for i in range(count, 1, -1):
        j = mix64((key + STEP * i) & MASK) * i >> 64
        order[i - 1], order[j] = order[j], order[i - 1]
    return np.array(order)


def batch_of(order, step, batch, world, rank):
    """Of an epoch's `step` (from 0), this rank's samples."""
    first = step * batch * world
    size = min(len(order) - first, batch * world)
    return order[first + rank * size // world:first + (rank + 1) * size // world]


def steps_per_epoch(count, batch, world):
    return -(-count // (batch * world))


def read_idx(path):
    with gzip.open(path, "rb") as file:
        data = file.read()
    dimensions = data[3]
    shape = [int.from_bytes(data[4 + 4 * d:8 + 4 * d], "big") for d in range(dimensions)]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def load(folder):
    """((images, labels) to train, (images, labels) to test): float32 of mean 0 and deviation 1 over what is trained."""
    folder = pathlib.Path(folder)
    splits = [(read_idx(folder / f"{name}-images-idx3-ubyte.gz"), read_idx(folder / f"{name}-labels-idx1-ubyte.gz"))
              for name in ("train", "t10k")]
    counts = np.bincount(splits[0][0].reshape(-1), minlength=256).astype(np.float64)
    values = np.arange(256)
    mean = (counts * values).sum() / counts.sum()
    deviation = ((counts * values * values).sum() / counts.sum() - mean * mean) ** 0.5
    table = ((values - mean) / deviation).astype(np.float32)
    return [(table[images][:, None], labels.astype(np.int64)) for images, labels in splits]


def write_safetensors(path, tensors):
    """`tensors`: {name: float32 array} in order."""
    header, offset = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, offset + tensor.nbytes]}
        offset += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(np.ascontiguousarray(tensor, np.float32).tobytes())


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        first, last = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[first:last], np.float32).reshape(entry["shape"]).copy()
    return tensors
