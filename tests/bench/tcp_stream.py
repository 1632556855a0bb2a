#!/usr/bin/python3
"""The floor under all that uses a link: one TCP stream, and the round trip of one byte.

    tcp_stream.py listen ADDRESS PORT            prints nothing; ends when the other side is done
    tcp_stream.py send ADDRESS PORT SECONDS      prints {"bytes_per_second", "round_trip_us"}

The rate counts payload, from the first byte's arrival to the last's, as the receiver tells it.
"""

import json
import socket
import statistics
import struct
import sys
import time

CHUNK = 1 << 16
ROUND_TRIPS = 100
DEADLINE_SECONDS = 60
WARM_UP_SECONDS = 0.5  # the shaper's burst, and TCP's start


def connected(address, port):
    """To whoever listens there soon."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        try:
            return socket.create_connection((address, port), timeout=DEADLINE_SECONDS)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def listen(address, port):
    with socket.create_server((address, port)) as server:
        server.settimeout(DEADLINE_SECONDS)
        peer, _ = server.accept()
    peer.settimeout(DEADLINE_SECONDS)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(ROUND_TRIPS):
        peer.sendall(peer.recv(1))
    begun, counted_from, received = time.perf_counter(), None, 0
    while data := peer.recv(CHUNK):
        now = time.perf_counter()
        if counted_from is None:
            if now - begun > WARM_UP_SECONDS:
                counted_from = now
        else:
            received += len(data)
    peer.sendall(struct.pack("<d", received / (now - counted_from)))
    peer.close()


def send(address, port, seconds):
    peer = connected(address, port)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    trips = []
    for _ in range(ROUND_TRIPS):
        start = time.perf_counter()
        peer.sendall(b"x")
        peer.recv(1)
        trips.append(time.perf_counter() - start)
    chunk, end = bytes(CHUNK), time.perf_counter() + seconds
    while time.perf_counter() < end:
        peer.sendall(chunk)
    peer.shutdown(socket.SHUT_WR)
    (rate,) = struct.unpack("<d", peer.recv(8, socket.MSG_WAITALL))
    print(json.dumps({"bytes_per_second": rate, "round_trip_us": 1e6 * statistics.median(trips)}))


if __name__ == "__main__":
    if sys.argv[1] == "listen":
        listen(sys.argv[2], int(sys.argv[3]))
    else:
        send(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
