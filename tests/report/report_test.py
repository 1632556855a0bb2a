#!/usr/bin/python3
"""Runs three strategies and opens what they leave: report.html and a comparison in a headless Chromium, trace.json as
the viewers of the trace event format read it.

--weft PATH: the binary. --keep DIR: leave the runs, the pages and screenshots of them there, to be looked at.
"""

import argparse
import base64
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

JOB = """apiVersion: weft.dev/v1alpha1
kind: TrainingJob
metadata: {name: small}
spec:
  strategy: {type: InterleavedPS, parameterServer: {period: 2, fusion: PerLayer}}
  model: {name: mlp, mlp: {hiddenSizes: [64, 32]}}
  data: {format: IDX, path: /usr/share/datasets/fashion-mnist}
  training: {epochs: 2, iterations: 120, batchSizePerWorker: 16, seed: 3}
  worker: {replicas: 2}
  server: {replicas: 1}
"""
RUN_SECONDS = 300
WIDTHS = (1280, 400)
OPTIONS = None
FOLDER = None


def weft(*arguments):
    done = subprocess.run([OPTIONS.weft, *arguments], cwd=FOLDER, capture_output=True, text=True, timeout=RUN_SECONDS)
    if done.returncode != 0:
        raise AssertionError(f"weft {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def run(name, *overrides):
    flags = [flag for override in overrides for flag in ("--set", override)]
    weft("run", "job.yaml", "--out", name, *flags)
    return FOLDER / name


def setUpModule():
    global FOLDER
    FOLDER = pathlib.Path(OPTIONS.keep or tempfile.mkdtemp(prefix="weft-report-"))
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "job.yaml").write_text(JOB)
    # A folder's name is anybody's text.
    run("<b>Interleaved&\"PS\"", "worker.replicas=8", "training.iterations=60")
    run("swarm", "strategy.type=Swarm")
    run("allreduce", "strategy.type=AllReduce")
    weft("report", "<b>Interleaved&\"PS\"", "swarm", "allreduce", "--out", "comparison.html")


def tearDownModule():
    if not OPTIONS.keep:
        shutil.rmtree(FOLDER)


INTERLEAVED = "<b>Interleaved&\"PS\""


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.profile = tempfile.mkdtemp(prefix="weft-chromium-")
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for flag in ("headless", "no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking",
                     "disable-component-update", "disable-sync", "disable-dev-shm-usage", f"user-data-dir={cls.profile}"):
            options.add_argument(f"--{flag}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.browser = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        shutil.rmtree(cls.profile, ignore_errors=True)

    def open(self, page, width=1280, scheme="light"):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                     {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.browser.get((FOLDER / page).as_uri())
        self.browser.execute_script("try { localStorage.clear(); } catch {}")
        self.browser.refresh()

    def tearDown(self):
        self.assertEqual([], [entry["message"] for entry in self.browser.get_log("browser")])

    def one(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def script(self, text, *arguments):
        return self.browser.execute_script(text, *arguments)

    def hover(self, canvas, x, y):
        """Moves the pointer to a point of the canvas, in its own pixels."""
        left, top = self.script("arguments[0].scrollIntoView({block: 'center'});"
                                "const box = arguments[0].getBoundingClientRect(); return [box.left, box.top];", canvas)
        # The scrolling hides a tooltip, in an event that comes with a later frame: how much later, a busy machine decides.
        rows, deadline = None, time.monotonic() + 20
        while rows is None and time.monotonic() < deadline:
            for step in (-1, 0):
                self.browser.execute_cdp_cmd("Input.dispatchMouseEvent",
                                             {"type": "mouseMoved", "x": left + x + step, "y": top + y})
            self.browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
            rows = self.script("return document.getElementById('tooltip').hidden ? null :"
                               "[...document.querySelectorAll('#tooltip div')].map((row) =>"
                               "[...row.children].map((part) => part.textContent))")
        self.assertIsNotNone(rows, "no tooltip")
        return self.one("#tooltip b").text, dict(rows)

    def shoot(self, name):
        if not OPTIONS.keep:
            return
        width, height = self.script("return [window.innerWidth, document.documentElement.scrollHeight]")
        shot = self.browser.execute_cdp_cmd("Page.captureScreenshot", {
            "captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}})
        (FOLDER / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))

    def test_pages_fit_the_window_in_both_themes(self):
        pages = {"servers": f"{INTERLEAVED}/report.html", "swarm": "swarm/report.html", "comparison": "comparison.html"}
        for name, page in pages.items():
            for width in WIDTHS:
                for scheme in ("light", "dark"):
                    with self.subTest(page=page, width=width, scheme=scheme):
                        self.open(page, width, scheme)
                        self.shoot(f"{name}-{width}-{scheme}")
                        self.assertLessEqual(self.script("return document.documentElement.scrollWidth"), width)
                        # Outside of the tables, which scroll, nothing stands out of its section.
                        wide = self.script(
                            "return [...document.querySelectorAll('main *')].filter((one) => !one.closest('.scroll, pre') &&"
                            "one.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)"
                            ".map((one) => one.outerHTML.slice(0, 120))")
                        self.assertEqual([], wide)

    def test_every_chart_that_is_shown_has_drawn_something(self):
        # The servers' run may be over before the first sketch, and then has no variance.
        for page, charts in ((f"{INTERLEAVED}/report.html", 5), ("swarm/report.html", 5), ("comparison.html", 6)):
            with self.subTest(page=page):
                self.open(page)
                drawn = self.script(
                    "return [...document.querySelectorAll('canvas')].filter((canvas) => canvas.offsetParent !== null)"
                    ".map((canvas) => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data"
                    ".some((value) => value !== 0))")
                self.assertGreaterEqual(len(drawn), charts)
                self.assertNotIn(False, drawn)

    def test_names_are_text(self):
        self.open(f"{INTERLEAVED}/report.html")
        self.assertEqual(INTERLEAVED, self.one("#title").text)
        self.assertEqual([], self.browser.find_elements(By.CSS_SELECTOR, "main b b, h1 b"))

    def test_theme_button_changes_the_colours_and_stays(self):
        self.open("swarm/report.html", scheme="light")
        color = "return getComputedStyle(document.body).backgroundColor"
        pixels = "const canvas = document.querySelector('canvas'); return canvas.toDataURL()"
        light, light_chart = self.script(color), self.script(pixels)
        self.one("#theme").click()
        dark, dark_chart = self.script(color), self.script(pixels)
        self.assertNotEqual(light, dark)
        self.assertNotEqual(light_chart, dark_chart)
        self.open("swarm/report.html", scheme="dark")
        self.assertEqual(dark, self.script(color))
        self.one("#theme").click()
        self.assertEqual(light, self.script(color))

    def test_hover_over_a_transfer_tells_what_metrics_jsonl_has(self):
        self.open(f"{INTERLEAVED}/report.html")
        canvas = self.one("#slots canvas")
        index, x, y = self.script(
            "const chart = Chart.getChart(arguments[0]); const bars = chart.getDatasetMeta(1).data;"
            # The shortest comes last and lies on top of the others.
            "const last = bars.length - 1;"
            "const {x, base, y} = bars[last].getProps(['x', 'base', 'y'], true); return [last, (x + base) / 2, y];", canvas)
        title, rows = self.hover(canvas, x, y)
        shown = self.script("return Chart.getChart(arguments[0]).data.datasets[1].data[arguments[1]].transfer", canvas, index)
        self.assertEqual(f"worker {shown['rank']}, group {shown['group']}", title)
        told = self.transfer(shown["rank"], shown["group"], shown["round"], shown["server"])
        self.assertEqual(rows["slot, round, server"], f"{told['slot']}, {told['round']}, {told['server']}")
        self.assertEqual(rows["transfer"], microseconds(told["transfer_us"]))
        self.assertEqual(rows["waited for the grant"].split()[1], microseconds(told["granted_us"] - told["start_us"]).split()[1])
        self.assertEqual(rows["overrun"].split(",")[0], "yes" if told["overrun"] else "no")
        pushed, pulled = rows["pushed, pulled"].split(", ")
        self.assertEqual(pushed, number_of_bytes(told["push_bytes"]))
        self.assertEqual(pulled, number_of_bytes(told["pull_bytes"]))

    def transfer(self, rank, group, round_, server):
        with open(FOLDER / INTERLEAVED / "metrics.jsonl", encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                for one in line.get("transfers", []) if line.get("rank") == rank else []:
                    if (one["group"], one["round"], one["server"]) == (group, round_, server):
                        return one
        self.fail(f"no transfer of group {group}, round {round_} of worker {rank}")

    def test_hover_over_a_curve_tells_the_mean_of_the_workers(self):
        self.open("swarm/report.html")
        canvas = self.one("canvas")
        x, y, iteration = self.script(
            "const chart = Chart.getChart(arguments[0]);"
            "const i = chart.data.datasets.findIndex(({label}) => label === 'training'); const at = 40;"
            "const {x, y} = chart.getDatasetMeta(i).data[at]; return [x, y, chart.data.datasets[i].data[at].x];", canvas)
        title, rows = self.hover(canvas, x, y)
        self.assertEqual(f"iteration {iteration}", title)
        with open(FOLDER / "swarm/metrics.jsonl", encoding="utf-8") as lines:
            losses = [line["loss"] for line in map(json.loads, lines) if "rank" in line and line["iteration"] == iteration]
        self.assertAlmostEqual(sum(losses) / len(losses), float(rows["training"]), delta=0.01)

    def test_comparison_has_a_column_a_run_and_the_time_to_an_accuracy(self):
        self.open("comparison.html")
        heads = [head.text for head in self.browser.find_elements(By.CSS_SELECTOR, "#comparison thead th")]
        self.assertEqual(["", INTERLEAVED, "swarm", "allreduce"], heads)
        rows = self.script("return Object.fromEntries([...document.querySelectorAll('#comparison tbody tr')].map((row) =>"
                           "[row.children[0].textContent, [...row.children].slice(1).map((cell) => cell.textContent)]))")
        self.assertEqual(["InterleavedPS", "Swarm", "AllReduce"], rows["strategy"])
        for i, name in enumerate((INTERLEAVED, "swarm", "allreduce")):
            summary = json.loads((FOLDER / name / "summary.json").read_text())
            self.assertEqual(f"{summary['accuracy'] * 100:.2f} %", rows["accuracy"][i])
        self.script("const input = document.querySelector('input'); input.value = '10';"
                    "input.dispatchEvent(new Event('input'))")
        self.assertIn("time to 10.00 %", self.one("#comparison").text)
        self.assertNotIn("–", self.script(
            "return [...document.querySelectorAll('#comparison tbody tr')].find((row) =>"
            "row.children[0].textContent === 'time to 10.00 %').children[1].textContent"))
        lines = self.script("return Chart.getChart(document.querySelector('canvas')).data.datasets.map(({label}) => label)")
        for name in (INTERLEAVED, "swarm", "allreduce"):
            self.assertIn(f"{name}, training", lines)

    def test_comparison_shows_one_of_the_runs(self):
        self.open("comparison.html", width=400)
        self.assertEqual([], self.browser.find_elements(By.ID, "exchanges"))
        self.assertEqual(1, len(self.browser.find_elements(By.ID, "slots")))
        self.script("const select = document.querySelector('select'); select.value = '1';"
                    "select.dispatchEvent(new Event('change'))")
        exchanges = self.one("#exchanges").text
        for text in ("averaged", "mechanism", "bits a weight", "staleness"):
            self.assertIn(text, exchanges)
        self.assertEqual([], self.browser.find_elements(By.ID, "slots"))

    def test_axis_buttons_change_the_axis(self):
        self.open("swarm/report.html")
        end = "return Chart.getChart(document.querySelector('canvas')).scales.x.max"
        self.assertEqual(120, self.script(end))
        self.one("button[data-value=seconds]").click()
        self.assertLess(self.script(end), 100)


def digits(value):
    """As text.js has it."""
    if value == 0:
        return "0"
    return str(round(value)) if abs(value) >= 100 else f"{float(f'{value:.3g}'):g}"


def number_of_bytes(value):
    for unit in ("B", "kB", "MB"):
        if abs(value) < 1000:
            return f"{digits(value)} {unit}"
        value /= 1000
    raise AssertionError("too many bytes for this test")


def microseconds(value):
    return f"{digits(value)} µs" if abs(value) < 1000 else f"{digits(value / 1000)} ms"


class TraceTest(unittest.TestCase):
    def test_trace_of_eight_workers_has_the_formats_fields_in_order_and_nested(self):
        trace = json.loads((FOLDER / INTERLEAVED / "trace.json").read_text())
        self.assertEqual("ms", trace["displayTimeUnit"])
        tracks, names = {}, {}
        for event in trace["traceEvents"]:
            self.assertIsInstance(event["name"], str)
            self.assertIsInstance(event["pid"], int)
            self.assertIsInstance(event["tid"], int)
            self.assertIn(event["ph"], ("X", "M"))
            if event["ph"] == "M":
                self.assertIn(event["name"], ("process_name", "thread_name"))
                names[event["name"], event["pid"], event["tid"]] = event["args"]["name"]
                continue
            for field in ("ts", "dur"):
                self.assertIsInstance(event[field], (int, float))
                self.assertTrue(math.isfinite(event[field]))
            self.assertGreaterEqual(event["dur"], 0)
            tracks.setdefault((event["pid"], event["tid"]), []).append(event)

        self.assertEqual([f"worker {i}" for i in range(8)],
                         [name for (what, _, _), name in names.items() if what == "process_name"])
        self.assertEqual(set(tracks), {(pid, tid) for what, pid, tid in names if what == "thread_name"})
        for track, events in tracks.items():
            open_ends = []
            for before, event in zip([None, *events], events):
                if before is not None:
                    self.assertLessEqual(before["ts"], event["ts"], f"{track} is not in order")
                end = event["ts"] + event["dur"]
                while open_ends and open_ends[-1] <= event["ts"] + 1e-3:
                    open_ends.pop()
                if open_ends:
                    self.assertLessEqual(end, open_ends[-1] + 1e-3, f"{track} at {event['ts']} overlaps")
                open_ends.append(end)
        computing = [event["name"] for event in tracks[0, 0]]
        self.assertEqual(60, sum(name.startswith("iteration ") for name in computing))
        self.assertTrue(any(name.startswith("transfers of group") for name in names.values()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--weft", required=True)
    parser.add_argument("--keep")
    OPTIONS, rest = parser.parse_known_args()
    OPTIONS.weft = os.path.abspath(OPTIONS.weft)
    unittest.main(argv=[sys.argv[0], *rest])
