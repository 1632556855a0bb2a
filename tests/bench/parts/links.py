"""Links: what one stream of TCP and a ping-pong of MPI reach on the shaped links, the floor under everything else."""

from statistics import median

from harness import figures, page
from parts.stall import megabits

TITLE = "The links themselves"
MINUTES = 3
QUICK_MINUTES = 1
RATES = ["10mbit", "100mbit", "1gbit"]


def run(bench):
    for rate in RATES[1:2] if bench.quick else RATES:
        for repetition in range(1 if bench.quick else 3):
            for system in ("tcp", "mpi"):
                bench.point({"system": system, "name": system, "bed": {"hosts": 9, "rate": rate},
                             "repetition": repetition, "seconds": 120, "largest": int(megabits(rate) * 1e6 / 8 / 10)})


def report(points_of, quick):
    rows, commands = [], []
    for rate in RATES:
        here = {}
        for point in points_of("links"):
            if point["settings"]["bed"]["rate"] == rate:
                here.setdefault(point["settings"]["system"], []).append(point)
        if len(here) < 2:
            continue
        nominal = megabits(rate) * 1e6 / 8
        stream = [p["values"]["bytes_per_second"] / nominal for p in here["tcp"]]
        trip = median(p["values"]["round_trip_us"] for p in here["tcp"])
        small = median(p["values"]["half_us"]["1024"] for p in here["mpi"])
        largest = here["mpi"][0]["settings"]["largest"]
        message = [largest / (1e-6 * p["values"]["half_us"][str(largest)]) / nominal for p in here["mpi"]]
        rows.append([rate, spread(stream), f"{trip:.0f}", f"{small:.0f}", f"{1e-3 * largest:,.0f} kB", spread(message)])
        commands += [(f"{rate}, {system}", points[0]["command"]) for system, points in here.items()]
    if not rows:
        return []
    return [page.Section(TITLE, text="Shares of the rate that the link is shaped to, which counts headers.", head=[
        "link", "one TCP stream's share", "round trip of a byte (us)", "MPI: 1 KiB, one way (us)", "MPI's largest message",
        "its share"], rows=rows, commands=commands)]


def spread(values):
    return f"{figures.significant(median(values))} ({figures.significant(min(values))} to " \
           f"{figures.significant(max(values))})"
