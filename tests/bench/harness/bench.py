"""What a part measures with: points that are measured once, one test-bed at a time, and the part's time budget."""

import json
import os
import time

from harness import machine, opponent, processes, weft
from harness.bed import Bed, Loopback
from harness.results import point_key

BED_NAME = "measured"
BENCH = machine.ROOT / "tests/bench"


class BudgetSpent(Exception):
    """The part's time is over: what is missing is measured by the next `make bench PART=…`."""


class Bench:
    def __init__(self, results, out, weft_program, quick, say):
        self.results, self.out, self.weft, self.quick, self.say = results, out, weft_program, quick, say
        self.part, self._end, self._bed, self._bed_settings = "", 0.0, Loopback(), None
        self.failures = []

    def begin(self, part, minutes):
        self.part, self._end = part, time.monotonic() + 60 * minutes

    def close(self):
        self._bed.close()
        self._bed, self._bed_settings = Loopback(), None

    def point(self, settings, part=None):
        """The point with these settings, measured if it is not there; None when it failed (kept in `failures`).

        settings: {"system": "weft" or "ddp", "bed": None or {"hosts", "rate"[, "host_rates"]}, "repetition", "seconds":
        its deadline, and what `_weft` or `_ddp` take}.
        BudgetSpent: it is not there and the part's time is over.
        """
        version = machine.version_of(settings)
        found = self.results.find(settings, version)
        if found:
            return found
        if time.monotonic() > self._end:
            raise BudgetSpent(f"{self.part}: the time budget is spent")
        begun = time.monotonic()
        try:
            command, values = {"weft": self._weft, "ddp": self._ddp}[settings["system"]](settings)
        except processes.Failed as failure:
            self.failures.append(f"{settings.get('name')}: {failure}")
            self.say(f"  failed: {settings.get('name')}: {failure}")
            return None
        took = time.monotonic() - begun
        self.say(f"  {describe(settings)}: iteration {1e-3 * values['iteration_us']:.1f} ms, {took:.0f} s")
        return self.results.add(part or self.part, settings, version, took, self._readable(command), values)

    def plan_of(self, point):
        """The plan that a Weft point ran by."""
        return self.out / "plans" / f"{point['key']}.json"

    def start_weights(self, model, seed):
        path = self.out / f"start-{model}-{seed}.safetensors"
        if not path.exists():
            processes.run([opponent.PYTHON, str(BENCH / "start_weights.py"), model, str(seed), str(path)], 120)
        return path

    def timeline(self, model, milliseconds, weights, blocks):
        """A timeline file, from the repository's root if it lies below."""
        name = f"{model}-{milliseconds}ms-{weights}" + (f"-{blocks}" if blocks else "")
        path = self.out / "timelines" / f"{name}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            line = [opponent.PYTHON, "examples/timelines/make_timeline.py", model, str(milliseconds), "--weights",
                    str(weights)]
            path.write_text(processes.run(line + (["--blocks", str(blocks)] if blocks else []), 60), encoding="utf-8")
        return os.path.relpath(path, machine.ROOT)

    def _on(self, settings):
        if settings != self._bed_settings:
            self.close()
            if settings:
                self._bed = Bed(self.weft, BED_NAME, settings["hosts"], settings["rate"],
                                settings.get("host_rates", {}))
            self._bed_settings = settings
        return self._bed

    def _weft(self, settings):
        """settings: "job", "set": {path: value}, "plan_of": the key of the point whose plan is followed, or None."""
        bed = self._on(settings["bed"])
        overrides = dict(settings["set"])
        options = list(bed.weft_options)
        if settings.get("start"):
            overrides["model.initialWeights"] = str(self.start_weights(*settings["start"]))
        if settings.get("timeline"):
            overrides["model"] = f"{{name: replay, replay: {{timeline: {self.timeline(*settings['timeline'])}}}}}"
        if settings.get("plan_of"):
            options += ["--plan", str(self.out / "plans" / f"{settings['plan_of']}.json")]
        plans = self.out / "plans"
        plans.mkdir(parents=True, exist_ok=True)
        line = weft.command(self.weft, settings["job"], overrides, options)
        if settings.get("no_slots"):
            line += ["--plan", self._plan_without_slots(line)]
        key = point_key(settings, machine.version_of(settings))
        return line, weft.run(line, self.out / "run", settings["seconds"], keep_plan=plans / f"{key}.json")

    def _plan_without_slots(self, line):
        """The plan that a short run makes, with all workers at the start of their group's window."""
        path = self.out / "plans" / "no-slots.json"
        weft.run([*line, "--set", "training.iterations=8"], self.out / "run", 300, keep_plan=path)
        plan = json.loads(path.read_text(encoding="utf-8"))
        for group in plan["groups"]:
            group["slot_us"] = 0
        path.write_text(json.dumps(plan), encoding="utf-8")
        return str(path)

    def _ddp(self, settings):
        """settings: "workers", "arguments": {option of ddp.py: value}, "period": iterations between two averagings."""
        bed = self._on(settings["bed"])
        arguments = dict(settings["arguments"])
        arguments["weights"] = self.start_weights(*settings["start"])
        arguments["deadline"] = settings["seconds"]
        return opponent.run(bed, settings["workers"], arguments, settings["seconds"], period=settings["period"])

    def _readable(self, command):
        """As a person would type it from the repository's root."""
        root = str(machine.ROOT) + os.sep
        words = [word.replace(root, "") for word in command]
        return " ".join(f"'{word}'" if set(word) & set(" {}[];") else word for word in words)


def describe(settings):
    bed = settings["bed"]
    where = bed["rate"] if bed else "unshaped"
    return f"{settings.get('name')}, {where}, repetition {settings['repetition']}"
