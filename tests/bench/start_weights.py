#!/usr/bin/python3
"""start_weights.py MODEL SEED FILE: the weights that Weft and PyTorch both start from, as safetensors.

PyTorch's own initialization, which is Weft's distribution too (uniform within 1 / sqrt(inputs)). MODEL: mlp or lenet.
"""

import os
import sys

import torch

import fashion

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import torch_models

HIDDEN = [1024, 640]  # 1,466,250 weights


def main():
    name, seed, path = sys.argv[1:]
    torch.manual_seed(int(seed))
    model = torch_models.Mlp(784, HIDDEN, 10) if name == "mlp" else torch_models.LeNet(1, 28, 28, 10)
    fashion.write_safetensors(path, {key: tensor.numpy() for key, tensor in torch_models.parameters_in_order(model)})


if __name__ == "__main__":
    main()
