#!/usr/bin/env python3
"""Writes the timeline of one ResNet-50 training step from its architecture (He et al. 2015, table 1, 224x224 images).

make_resnet50.py MILLISECONDS [DIVISOR]

A layer is a convolution with its batch normalization, or the last product with its bias: 54 layers with 25,557,032
weights. Nothing is measured: forward takes a third of the time and backward two thirds, dealt to the layers by their
multiplications. With a DIVISOR every layer's bytes are divided by it, so that a slow link or a small machine bears the
same load on fewer bytes.
"""
import json
import sys


def layers():
    """(name, weights, multiplications of one image) in forward order."""

    def conv(name, inputs, outputs, kernel, size):
        weights = inputs * outputs * kernel * kernel
        return name, weights + 2 * outputs, weights * size * size

    yield conv("conv1", 3, 64, 7, 112)
    inputs = 64
    for stage, (blocks, width, size) in enumerate([(3, 64, 56), (4, 128, 28), (6, 256, 14), (3, 512, 7)], start=1):
        for block in range(blocks):
            name = f"layer{stage}.{block}"
            # The stride lies in the 3x3 convolution: the one before it still sees the larger image.
            first = 2 * size if block == 0 and stage > 1 else size
            yield conv(f"{name}.conv1", inputs, width, 1, first)
            yield conv(f"{name}.conv2", width, width, 3, size)
            yield conv(f"{name}.conv3", width, 4 * width, 1, size)
            if block == 0:
                yield conv(f"{name}.downsample", inputs, 4 * width, 1, size)
            inputs = 4 * width
    yield "fc", 2048 * 1000 + 1000, 2048 * 1000


def main():
    total_us = 1000 * float(sys.argv[1])
    divisor = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rows = list(layers())
    assert sum(weights for _, weights, _ in rows) == 25_557_032
    work = sum(multiplications for _, _, multiplications in rows)
    lines = []
    for name, weights, multiplications in rows:
        share = total_us * multiplications / work
        lines.append(json.dumps({"name": name, "bytes": 4 * (weights // divisor), "forward_us": round(share / 3, 1),
                                 "backward_us": round(2 * share / 3, 1)}))
    comment = f"ResNet-50, {sys.argv[1]} ms a step, weights divided by {divisor}; made by make_resnet50.py, not measured"
    print('{"comment": ' + json.dumps(comment) + ',\n "layers": [\n  ' + ",\n  ".join(lines) + "\n ]}")


main()
