#!/usr/bin/env python3
"""Writes the timeline of one training step of a published architecture: its layers' sizes, and times by arithmetic.

make_timeline.py resnet50|vgg16|bert-large|gpt2-small MILLISECONDS [--divisor N | --weights N] [--blocks N]

Nothing is measured: forward takes a third of the time and backward two thirds, dealt to the layers by their
multiplications (a look-up of embeddings has none). --divisor divides each layer's bytes, and --weights finds the divisor
for so many weights in all, so that a slow link or a small machine bears the same load on fewer bytes. --blocks joins
consecutive layers to so many blocks of about equal time.

  resnet50    He et al. 2015, table 1, 224x224 images: a layer is a convolution with its batch normalization
  vgg16       Simonyan and Zisserman 2014, configuration D, 224x224 images
  bert-large  Devlin et al. 2018, with the pooler: 24 blocks of width 1024 with 512 tokens
  gpt2-small  Radford et al. 2019: 12 blocks of width 768 with 1024 tokens; the head is the transposed embedding
"""
import argparse
import json

# Weights in all, as published or as the reference implementations count them.
WEIGHTS = {"resnet50": 25_557_032, "vgg16": 138_357_544, "bert-large": 335_141_888, "gpt2-small": 124_439_808}


def resnet50():
    """(name, weights, multiplications of one image) in forward order; so all of these functions."""

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


def vgg16():
    inputs, layer = 3, 0
    for size, widths in [(224, [64] * 2), (112, [128] * 2), (56, [256] * 3), (28, [512] * 3), (14, [512] * 3)]:
        for width in widths:
            weights = inputs * width * 9
            layer += 1
            yield f"conv{layer}", weights + width, weights * size * size
            inputs = width
    for layer, (rows, columns) in enumerate([(512 * 7 * 7, 4096), (4096, 4096), (4096, 1000)], start=1):
        yield f"fc{layer}", rows * columns + columns, rows * columns


def blocks(count, width, tokens):
    """Transformer blocks of four products, each with the layer normalization before or behind it."""
    for block in range(count):
        attention = 2 * tokens * tokens * width  # the scores, and their product with the values
        square = width * width
        yield f"block{block}.qkv", 3 * (square + width), 3 * square * tokens + attention
        yield f"block{block}.projection", square + 3 * width, square * tokens
        yield f"block{block}.expand", 4 * square + 4 * width, 4 * square * tokens
        yield f"block{block}.contract", 4 * square + 3 * width, 4 * square * tokens


def bert_large():
    width, tokens = 1024, 512
    yield "embeddings", (30522 + 512 + 2 + 2) * width, 0
    yield from blocks(24, width, tokens)
    yield "pooler", width * width + width, width * width


def gpt2_small():
    width, tokens, vocabulary = 768, 1024, 50257
    yield "embeddings", (vocabulary + tokens) * width, 0
    yield from blocks(12, width, tokens)
    yield "norm", 2 * width, 0
    yield "head", 0, vocabulary * width * tokens


def joined(rows, count):
    """Runs of consecutive rows, cut where the multiplications so far pass the next of `count` equal parts."""
    total = sum(work for _, _, work in rows)
    out, done = [], 0
    for index, (name, weights, work) in enumerate(rows):
        left = len(rows) - index
        begin = not out or (done >= total * len(out) / count and len(out) < count) or left <= count - len(out)
        if begin:
            out.append((name, weights, work))
        else:
            first, weights_so_far, work_so_far = out[-1]
            out[-1] = (f"{first.partition(' to ')[0]} to {name}", weights_so_far + weights, work_so_far + work)
        done += work
    return out


def main():
    models = {"resnet50": resnet50, "vgg16": vgg16, "bert-large": bert_large, "gpt2-small": gpt2_small}
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", choices=models)
    arguments.add_argument("milliseconds", type=float)
    size = arguments.add_mutually_exclusive_group()
    size.add_argument("--divisor", type=float, default=1)
    size.add_argument("--weights", type=float)
    arguments.add_argument("--blocks", type=int)
    options = arguments.parse_args()
    rows = list(models[options.model]())
    assert sum(weights for _, weights, _ in rows) == WEIGHTS[options.model]
    divisor = WEIGHTS[options.model] / options.weights if options.weights else options.divisor
    if options.blocks:
        rows = joined(rows, options.blocks)
    work = sum(multiplications for _, _, multiplications in rows)
    lines = []
    for name, weights, multiplications in rows:
        share = 1000 * options.milliseconds * multiplications / work
        lines.append(json.dumps({"name": name, "bytes": 4 * int(weights // divisor), "forward_us": round(share / 3, 1),
                                 "backward_us": round(2 * share / 3, 1)}))
    comment = (f"{options.model}, {options.milliseconds:g} ms a step, weights divided by {divisor:g}; "
               "made by make_timeline.py, not measured")
    print('{"comment": ' + json.dumps(comment) + ',\n "layers": [\n  ' + ",\n  ".join(lines) + "\n ]}")


main()
