"""Choice: the iteration of what Auto picked, over that of the best strategy measured at the same point."""

from harness import figures, page
from parts import stall

TITLE = "What Auto picks"
MINUTES, QUICK_MINUTES = stall.MINUTES, stall.QUICK_MINUTES


def run(bench):
    stall.run(bench, part="stall")


def report(points_of, quick):
    rows = []
    points = points_of("stall")
    for case in stall.cases(quick):
        found = stall.by_name(points, case)
        auto = found.pop("Auto", None)
        plain = {name: stall.each(runs, lambda v: v["iteration_us"]) for name, runs in found.items()
                 if name in stall.STRATEGIES}
        if not auto or not plain:
            continue
        times = stall.each(auto, lambda v: v["iteration_us"])
        best = min(plain, key=lambda name: figures.median(plain[name]))
        picked = next(iter(auto.values()))["values"]
        rows.append([case.title().partition(": ")[2], picked["strategy"], picked["period"], best,
                     str(figures.Ratio(times, plain[best])),
                     str(figures.Ratio(times, plain["AllReduce"])) if "AllReduce" in plain else "–"])
    if not rows:
        return []
    return [page.Section(TITLE, text="By the iteration alone, whatever a strategy's iterations are worth to the model.",
                         head=["point", "picked", "T, H", "best measured", "Auto ÷ best", "Auto ÷ AllReduce"], rows=rows)]
