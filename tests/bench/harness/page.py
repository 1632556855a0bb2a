"""The report of a results file: one HTML page with plots inside, and the same tables in Markdown."""

import dataclasses
import html
import io

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

INK = "#7a7f87"  # readable on white and on black
COLOURS = ["#3b82c4", "#d9822b", "#3f9c6b", "#b4559a", "#8a6d3b", "#5a67c7", "#c2504a", "#4a9ea8"]
plt.rcParams.update({"svg.fonttype": "none", "font.size": 10, "axes.edgecolor": INK, "axes.labelcolor": INK,
                     "xtick.color": INK, "ytick.color": INK, "text.color": INK, "axes.spines.top": False,
                     "axes.spines.right": False, "svg.hashsalt": "weft", "font.family": "sans-serif",
                     "axes.prop_cycle": matplotlib.cycler(color=COLOURS)})

STYLE = """
:root { color-scheme: light dark; --ink: #1c1f23; --paper: #fff; --line: #d5d9de; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --paper: #15181c; --line: #3a4047; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2em auto;
       max-width: 1200px; padding: 0 1em; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .25em .7em; text-align: right; }
th { vertical-align: bottom; } th:first-child, td:first-child { text-align: left; }
svg { max-width: 100%; height: auto; } code { font-size: 12px; overflow-wrap: anywhere; }
"""


@dataclasses.dataclass
class Section:
    title: str
    text: str = ""
    head: list = dataclasses.field(default_factory=list)
    rows: list = dataclasses.field(default_factory=list)
    plot: str = ""
    commands: list = dataclasses.field(default_factory=list)  # (what, command)


def svg(figure):
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    text = out.getvalue()
    return text[text.index("<svg"):]


def bars(values, label):
    """Horizontal bars of [(name, Ratio)] with their spread."""
    figure, axes = plt.subplots(figsize=(8, 0.4 + 0.32 * len(values)))
    names = [name for name, _ in values][::-1]
    ratios = [ratio for _, ratio in values][::-1]
    spread = [[max(0, r.value - r.low) for r in ratios], [max(0, r.high - r.value) for r in ratios]]
    axes.barh(names, [r.value for r in ratios], xerr=spread, color=COLOURS[0], ecolor=INK, height=0.65)
    axes.axvline(1, color=INK, linewidth=0.8)
    axes.set_xlabel(label)
    return svg(figure)


def lines(series, x_label, y_label, log_x=False, log_y=False, level=None):
    """{name: [(x, y)]} as lines with points; `level`: a horizontal line to compare with."""
    figure, axes = plt.subplots(figsize=(8, 4))
    for name, points in series.items():
        axes.plot(*zip(*sorted(points)), marker="o", markersize=4, label=name)
    if level is not None:
        axes.axhline(level, color=INK, linewidth=0.8)
    _finish(axes, x_label, y_label, log_x, log_y)
    return svg(figure)


def scatter(series, x_label, y_label, diagonal=True):
    """{name: [(x, y)]} on logarithmic axes, with the line where both are equal and 10 % about it."""
    figure, axes = plt.subplots(figsize=(7, 6))
    for name, points in series.items():
        axes.scatter(*zip(*points), s=18, label=name, alpha=0.8)
    if diagonal:
        low = min(min(p) for points in series.values() for p in points)
        high = max(max(p) for points in series.values() for p in points)
        axes.plot([low, high], [low, high], color=INK, linewidth=0.8)
        axes.fill_between([low, high], [0.9 * low, 0.9 * high], [1.1 * low, 1.1 * high], color=INK, alpha=0.15)
    _finish(axes, x_label, y_label, True, True)
    return svg(figure)


def _finish(axes, x_label, y_label, log_x, log_y):
    if log_x:
        axes.set_xscale("log")
    if log_y:
        axes.set_yscale("log")
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.legend(frameon=False, fontsize=8)


def to_html(machine, sections):
    out = [f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
           f"<title>Weft: benchmarks</title><style>{STYLE}</style><h1>Weft: benchmarks</h1>",
           "<p>" + html.escape(", ".join(f"{key} {value}" for key, value in machine.items() if key != "torch_config"))]
    for section in sections:
        out.append(f"<h2>{html.escape(section.title)}</h2>")
        if section.text:
            out.append(f"<p>{html.escape(section.text)}</p>")
        if section.rows:
            cells = lambda tag, row: "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in row)
            out.append("<div class=wide><table><tr>" + cells("th", section.head) + "</tr>" +
                       "".join(f"<tr>{cells('td', row)}</tr>" for row in section.rows) + "</table></div>")
        if section.plot:
            out.append(section.plot)
        if section.commands:
            out.append("<details><summary>Commands</summary>" + "".join(
                f"<p>{html.escape(what)}<br><code>{html.escape(command)}</code>" for what, command in section.commands)
                + "</details>")
    if machine.get("torch_config"):
        out.append(f"<details><summary>PyTorch</summary><pre>{html.escape(machine['torch_config'])}</pre></details>")
    return "\n".join(out) + "\n"


def to_markdown(sections):
    out = []
    for section in sections:
        out.append(f"### {section.title}\n")
        if section.text:
            out.append(section.text + "\n")
        if section.rows:
            out.append("| " + " | ".join(map(str, section.head)) + " |")
            out.append("|" + "---|" * len(section.head))
            out += ["| " + " | ".join(map(str, row)) + " |" for row in section.rows]
            out.append("")
    return "\n".join(out)
