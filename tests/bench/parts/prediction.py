"""Prediction: the iteration that the plan predicted, over the measured one, of all points with a plan."""

from statistics import median

from harness import figures, page
from parts import stall

TITLE = "Predicted against measured iterations"
MINUTES, QUICK_MINUTES = stall.MINUTES, stall.QUICK_MINUTES


def run(bench):
    stall.run(bench, part="stall")


def report(points_of, quick):
    ratios, series = {}, {}
    for point in points_of("stall") + points_of("accuracy"):
        values = point["values"]
        if not values.get("predicted_us") or not point["settings"]["bed"]:
            continue
        name = values["strategy"]
        ratios.setdefault(name, []).append(values["predicted_us"] / values["iteration_us"])
        series.setdefault(name, []).append((1e-3 * values["iteration_us"], 1e-3 * values["predicted_us"]))
    if not ratios:
        return []
    rows = [[name, len(own), figures.significant(median(own)), figures.significant(min(own)),
             figures.significant(max(own)), f"{100 * sum(0.9 <= r <= 1.1 for r in own) / len(own):.0f} %"]
            for name, own in ratios.items()]
    return [page.Section(TITLE, head=["strategy", "points", "median", "least", "greatest", "within 10 %"], rows=rows,
                         plot=page.scatter(series, "measured iteration (ms)", "predicted iteration (ms)"))]
