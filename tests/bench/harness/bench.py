"""What a part measures with: points that are measured once, one test-bed at a time, and the part's time budget."""

import json
import os
import time

from harness import machine, opponent, processes, weft
from harness.bed import Bed, Loopback
from harness.results import point_key

BED_NAME = "measured"
STREAM_PORT, STREAM_SECONDS = 29556, 4
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

        settings: {"system": "weft", "ddp", "tcp", "mpi" or "planner", "name", "bed": None (this machine's loopback) or
        {"hosts", "rate"[, "host_rates"]}, "repetition", "seconds": its deadline, and what the method of the system's
        name takes}.
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
            command, values = getattr(self, "_" + settings["system"])(settings)
        except processes.Failed as failure:
            self.failures.append(f"{settings.get('name')}: {failure}")
            self.say(f"  failed: {settings.get('name')}: {failure}")
            return None
        took = time.monotonic() - begun
        iteration = f"iteration {1e-3 * values['iteration_us']:.1f} ms, " if "iteration_us" in values else ""
        self.say(f"  {describe(settings)}: {iteration}{took:.0f} s")
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
            overrides["model"] = (f"{{name: replay, replay: {{timeline: {self.timeline(*settings['timeline'])}, "
                                  f"slowWorker: {settings.get('slow_worker', 1)}}}}}")
        if settings.get("plan_of"):
            options += ["--plan", str(self.out / "plans" / f"{settings['plan_of']}.json")]
        plans = self.out / "plans"
        plans.mkdir(parents=True, exist_ok=True)
        line = weft.command(self.weft, settings["job"], overrides, options)
        if settings.get("no_slots"):
            line += ["--plan", self._plan_without_slots(line)]
        key = point_key(settings, machine.version_of(settings))
        stop = None
        if settings.get("stop"):
            stop = weft.Stop(lambda word: [self.weft, "testbed", word, BED_NAME, str(settings["stop"]["host"])],
                             **settings["stop"])
        values = weft.run(line, self.out / "run", settings["seconds"], keep_plan=plans / f"{key}.json", stop=stop)
        return line, values

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

    def _tcp(self, settings):
        """One stream from host 0 to host 1."""
        bed = self._on(settings["bed"])
        program = [opponent.PYTHON, str(BENCH / "tcp_stream.py")]
        place = [bed.address(1), str(STREAM_PORT)]
        commands = [bed.on(0, [*program, "send", *place, str(STREAM_SECONDS)]), bed.on(1, [*program, "listen", *place])]
        return commands[0], json.loads(processes.run_all(commands, settings["seconds"])[0])

    def _mpi(self, settings):
        """A ping-pong between hosts 0 and 1 with the settings that Weft gives mpirun."""
        bed = self._on(settings["bed"])
        options = {"plm_rsh_agent": "weft-remote-shell", "plm_rsh_no_tree_spawn": "1", "orte_leave_session_attached": "1",
                   "oob_tcp_if_include": bed.interface, "pml": "ob1", "btl": "tcp,self",
                   "btl_tcp_if_include": bed.interface, "btl_tcp_flags": "send,inplace"}
        line = ["mpirun", "--bind-to", "none", "--host", f"{bed.address(0)}:1,{bed.address(1)}:1", "-np", "2"]
        for name, value in options.items():
            line += ["--mca", name, value]
        line = bed.on("control", [*line, opponent.PYTHON, str(BENCH / "ping_pong.py"), str(settings["largest"])])
        environment = {"WEFT_TESTBED": f"/run/weft/testbed/{BED_NAME}.json", "SHELL": "/bin/bash",
                       "PATH": os.path.dirname(self.weft) + ":" + os.environ["PATH"], "PMIX_MCA_gds": "hash",
                       "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return line, json.loads(processes.run(line, settings["seconds"], environment))

    def _planner(self, settings):
        """settings: "tool": plan or simulate, "strategy", "workers", "timeline". "seconds" is null when it took longer."""
        line = [self.weft, settings["tool"], "--timeline", self.timeline(*settings["timeline"]), "--workers",
                str(settings["workers"]), "--servers", str(max(1, settings["workers"] // 8)), "--strategy",
                settings["strategy"], "--json"]
        begun = time.monotonic()
        try:
            processes.run(line, settings["seconds"])
        except processes.TooLong:
            return line, {"seconds": None}
        return line, {"seconds": time.monotonic() - begun}

    def _readable(self, command):
        """As a person would type it from the repository's root."""
        root = str(machine.ROOT) + os.sep
        words = [word.replace(root, "") for word in command]
        return " ".join(f"'{word}'" if set(word) & set(" {}[];") else word for word in words)


def describe(settings):
    bed = settings["bed"]
    where = bed["rate"] if bed else "unshaped"
    return f"{settings.get('name')}, {where}, repetition {settings['repetition']}"
