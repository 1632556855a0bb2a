#!/usr/bin/python3
"""One rank of PyTorch's DistributedDataParallel over gloo: what a user would run instead of Weft.

The driver starts it once a rank, in that rank's host of the test-bed. Model, data, order, batches, starting weights,
optimizer and schedule are those of a Weft run with the same settings. Prints one line of JSON:

  rank, torch, blas    what ran
  iterations           trained
  iteration_us         of each iteration: batch, forward, backward with its sums, step
  losses               of this rank's batch in the first ten iterations
  epochs               after each epoch: accuracy and loss on the test split, iterations and seconds trained so far
                       (rank 0; evaluating is not in the times)
  bytes_per_iteration  sent and received by the interface, headers included; evaluations are left out, and with
                       --iterations the first quarter

--method: none (plain DDP), fp16 (fp16_compress_hook), powersgd (PowerSGD of rank --powersgd-rank, from iteration 5 on,
in one bucket), postlocal (PostLocalSGD: no gradient is sent, the weights are averaged every --period iterations). Ends with an error
when another rank does not answer for --deadline seconds.
"""

import argparse
import datetime
import json
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, post_localSGD_hook, powerSGD_hook
from torch.distributed.algorithms.model_averaging import averagers
from torch.distributed.optim import PostLocalSGDOptimizer
from torch.nn.parallel import DistributedDataParallel

import fashion

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import torch_models

POWERSGD_START = 5
FIRST_LOSSES = 10


def make_model(options):
    if options.model == "mlp":
        model = torch_models.Mlp(784, options.hidden, 10)
    else:
        model = torch_models.LeNet(1, 28, 28, 10)
    weights = fashion.read_safetensors(options.weights)
    model.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in weights.items()})
    return model


def wrap(options, model):
    """The model under DDP, its optimizer, and the averager of PostLocalSGD."""
    optimizer = torch.optim.SGD(model.parameters(), lr=options.rate, momentum=options.momentum,
                                weight_decay=options.weight_decay)
    if options.method == "powersgd":
        # With several buckets on their way gloo mixes up the hook's sums (it begins the later ones of a bucket in a
        # callback, in another order on each rank, and aborts): a first bucket that takes the whole model.
        dist._DEFAULT_FIRST_BUCKET_BYTES = 1 << 30
    parallel = DistributedDataParallel(model, bucket_cap_mb=options.bucket_mb)
    if options.method == "fp16":
        parallel.register_comm_hook(None, default_hooks.fp16_compress_hook)
    elif options.method == "powersgd":
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=options.powersgd_rank,
                                            start_powerSGD_iter=POWERSGD_START)
        parallel.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    elif options.method == "postlocal":
        alone = [dist.new_group([rank]) for rank in range(options.world)][options.rank]
        state = post_localSGD_hook.PostLocalSGDState(None, alone, start_localSGD_iter=0,
                                                     post_local_gradient_allreduce=False)
        parallel.register_comm_hook(state, post_localSGD_hook.post_localSGD_hook)
        averager = averagers.PeriodicModelAverager(period=options.period, warmup_steps=0)
        optimizer = PostLocalSGDOptimizer(optimizer, averager)
    return parallel, optimizer


def evaluate(options, model, images, labels):
    """Accuracy and loss of the mean of all ranks' models, on rank 0; it alone computes."""
    flat = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    if options.method == "postlocal":
        dist.all_reduce(flat)
        flat /= options.world
    result = torch.zeros(2, dtype=torch.float64)
    if options.rank == 0:
        own = [p.detach().clone() for p in model.parameters()]
        torch.nn.utils.vector_to_parameters(flat.clone(), model.parameters())
        with torch.no_grad():
            for first in range(0, len(images), 1000):
                logits, target = model(images[first:first + 1000]), labels[first:first + 1000]
                result[0] += (logits.argmax(1) == target).sum()
                result[1] += F.cross_entropy(logits, target, reduction="sum")
            for parameter, value in zip(model.parameters(), own):
                parameter.copy_(value)
        result /= len(images)
    dist.broadcast(result, 0)
    return result.tolist()


def interface_bytes(interface):
    """Sent and received by this network's interface."""
    with open("/proc/net/dev", encoding="ascii") as lines:
        for line in lines:
            name, _, fields = line.partition(":")
            if name.strip() == interface:
                fields = fields.split()
                return int(fields[8]) + int(fields[0])
    sys.exit(f"there is no interface {interface}")


def train(options):
    (images, labels), (test_images, test_labels) = fashion.load(options.data)
    test_images, test_labels = torch.from_numpy(test_images), torch.from_numpy(test_labels)
    model = make_model(options)
    parallel, optimizer = wrap(options, model)
    steps = fashion.steps_per_epoch(len(images), options.batch, options.world)
    total = options.iterations or options.epochs * steps
    warmup = options.warmup_epochs * steps
    times, losses, epochs, order = [], [], [], None
    traffic, counted, skipped = 0, 0, options.iterations // 4
    dist.barrier()
    counter = interface_bytes(options.interface)
    for iteration in range(1, total + 1):
        epoch, step = divmod(iteration - 1, steps)
        if step == 0:  # both programs draw an epoch's order between iterations
            order = fashion.epoch_order(options.seed, epoch, len(images))
        start = time.perf_counter()
        chosen = fashion.batch_of(order, step, options.batch, options.world, options.rank)
        rate = options.rate * min(1.0, iteration / warmup) if warmup else options.rate
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        loss = F.cross_entropy(parallel(torch.from_numpy(images[chosen])), torch.from_numpy(labels[chosen]))
        loss.backward()
        optimizer.step()
        times.append(time.perf_counter() - start)
        counted += 1
        if iteration == skipped:
            counter, counted = interface_bytes(options.interface), 0
        if iteration <= FIRST_LOSSES:
            losses.append(loss.item())
        if step == steps - 1 and not options.iterations:
            traffic += interface_bytes(options.interface) - counter
            accuracy, test_loss = evaluate(options, model, test_images, test_labels)
            epochs.append({"epoch": epoch + 1, "iteration": iteration, "accuracy": accuracy, "loss": test_loss,
                           "seconds": sum(times)})
            counter = interface_bytes(options.interface)
            if options.target and accuracy >= options.target:
                break
    traffic += interface_bytes(options.interface) - counter
    dist.barrier()
    return {"iterations": len(times), "iteration_us": [round(1e6 * t, 1) for t in times], "losses": losses,
            "epochs": epochs, "bytes_per_iteration": traffic / counted}


def mapped_blas():
    """The file of the BLAS that this process has mapped."""
    with open("/proc/self/maps", encoding="utf-8") as lines:
        return sorted({line.split()[-1] for line in lines if "blas" in line.rpartition("/")[2]})


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rank", type=int, required=True)
    arguments.add_argument("--world", type=int, required=True)
    arguments.add_argument("--master", required=True, help="ADDRESS:PORT of rank 0")
    arguments.add_argument("--interface", required=True)
    arguments.add_argument("--model", choices=["mlp", "lenet"], default="mlp")
    arguments.add_argument("--hidden", type=lambda text: [int(n) for n in text.split(",")], default=[1024, 640])
    arguments.add_argument("--weights", required=True, help="safetensors to start from")
    arguments.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    arguments.add_argument("--batch", type=int, default=64)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--rate", type=float, default=0.05)
    arguments.add_argument("--momentum", type=float, default=0.9)
    arguments.add_argument("--weight-decay", type=float, default=0.0005)
    arguments.add_argument("--warmup-epochs", type=float, default=1)
    arguments.add_argument("--iterations", type=int, default=0, help="so many in place of epochs")
    arguments.add_argument("--epochs", type=int, default=15)
    arguments.add_argument("--target", type=float, default=0, help="accuracy that ends the run")
    arguments.add_argument("--method", choices=["none", "fp16", "powersgd", "postlocal"], default="none")
    arguments.add_argument("--bucket-mb", type=float, default=25)
    arguments.add_argument("--powersgd-rank", type=int, default=2)
    arguments.add_argument("--period", type=int, default=4)
    arguments.add_argument("--deadline", type=float, default=120)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = options.interface
    dist.init_process_group("gloo", init_method=f"tcp://{options.master}", rank=options.rank, world_size=options.world,
                            timeout=datetime.timedelta(seconds=options.deadline))
    result = train(options)
    dist.destroy_process_group()
    print(json.dumps({"rank": options.rank, "torch": torch.__version__, "blas": mapped_blas(),
                      "config": torch.__config__.show() if options.rank == 0 else ""} | result), flush=True)


if __name__ == "__main__":
    main()
