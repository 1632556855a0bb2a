"""How figures are formed: medians of interleaved repetitions, and ratios of such medians with their spread."""

import statistics


class Ratio:
    """The median over repetitions of one measurement, over that of another.

    `low` and `high` are the least and the greatest of the ratios within a repetition, where the two were measured one
    after the other; with repetitions missing on one side, those that both have count.
    """

    def __init__(self, values, base):
        self.value = median(values) / median(base)
        within = [values[repetition] / base[repetition] for repetition in values if repetition in base]
        self.low, self.high = (min(within), max(within)) if within else (self.value, self.value)
        self.repetitions = min(len(values), len(base))

    def json(self):
        return {"value": self.value, "low": self.low, "high": self.high, "repetitions": self.repetitions}

    def __str__(self):
        if self.repetitions < 2:
            return f"{significant(self.value)}"
        return f"{significant(self.value)} ({significant(self.low)} to {significant(self.high)})"


def significant(value, digits=3):
    """4.219 -> 4.22, 0.9987 -> 0.999, 231.4 -> 231, 1.0012 -> 1.001: near one, one digit more."""
    if value is None:
        return "–"
    if 0.95 < abs(value) < 1.1:
        return f"{value:.3f}"
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if "e" in text else text


def median(values):
    """Over the repetitions {repetition: value}."""
    return statistics.median(values.values())


def window_medians(iterations_us, period, least=8):
    """The median over windows of their mean iteration.

    A window is whole periods and at least `least` iterations: one that sends comes once a period, and where nobody waits
    for a certain iteration many are short and a few long.
    """
    window = -(-least // period) * period
    windows = [statistics.mean(iterations_us[first:first + window])
               for first in range(0, len(iterations_us) - window + 1, window)]
    return statistics.median(windows or [statistics.mean(iterations_us)])


def first_at_least(epochs, target):
    """Of [{"accuracy", …}] the first that reaches `target`, or None."""
    return next((epoch for epoch in epochs if epoch["accuracy"] >= target), None)
