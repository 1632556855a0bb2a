#!/usr/bin/python3
"""The floor under what Weft's ranks send each other: a ping-pong of MPI's, between rank 0 and rank 1.

    mpirun -np 2 … ping_pong.py LARGEST_BYTES    rank 0 prints {"half_us": {bytes: median of half a round trip}}

Sizes are powers of 16 from 1 KiB on, and the largest.
"""

import json
import statistics
import sys
import time

import numpy as np
from mpi4py import MPI

SECONDS_A_SIZE = 1.0
LEAST_TRIPS = 3


def main():
    world, largest = MPI.COMM_WORLD, int(sys.argv[1])
    sizes = [size for size in (1 << 10, 1 << 14, 1 << 18) if size < largest] + [largest]
    half = {}
    for size in sizes:
        buffer, trips = np.zeros(size, np.uint8), []
        go_on = np.ones(1, np.uint8)
        end = time.perf_counter() + SECONDS_A_SIZE
        while go_on[0]:
            start = time.perf_counter()
            if world.rank == 0:
                world.Send(buffer, 1)
                world.Recv(buffer, 1)
                trips.append(time.perf_counter() - start)
                go_on[0] = time.perf_counter() < end or len(trips) < LEAST_TRIPS
                world.Send(go_on, 1)
            else:
                world.Recv(buffer, 0)
                world.Send(buffer, 0)
                world.Recv(go_on, 0)
        half[size] = 5e5 * statistics.median(trips) if trips else 0
    if world.rank == 0:
        print(json.dumps({"half_us": half}))


main()
