#!/usr/bin/python3
"""`weft top` on real runs in a pseudo-terminal, whose screen pyte keeps as a terminal would. --weft PATH: the binary."""

import argparse
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

import pyte

JOB = """apiVersion: weft.dev/v1alpha1
kind: TrainingJob
metadata: {name: small}
spec:
  strategy: {type: InterleavedPS, parameterServer: {period: 2, fusion: PerLayer}}
  model: {name: mlp, mlp: {hiddenSizes: [64, 32]}}
  data: {format: IDX, path: /usr/share/datasets/fashion-mnist}
  training: {epochs: 100, iterations: 100000, batchSizePerWorker: 16, seed: 3}
  worker: {replicas: 2}
  server: {replicas: 1}
"""
WAIT_SECONDS = 90  # for what comes at once on an idle machine
OPTIONS = None


class Run:
    """`weft run` in the background."""

    def __init__(self, folder, name):
        self.directory = folder / name
        (folder / "job.yaml").write_text(JOB)
        self.output = open(folder / (name + ".out"), "w+")
        self.process = subprocess.Popen(
            [OPTIONS.weft, "run", folder / "job.yaml", "--out", self.directory, "--inject-delay-us", "3000"],
            stdout=self.output, stderr=subprocess.STDOUT)

    def wait_until_training(self):
        metrics = self.directory / "metrics.jsonl"
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            if metrics.exists() and '"iteration":3,' in metrics.read_text():
                return
            time.sleep(0.05)
        raise AssertionError("the run does not train: " + self.told())

    def told(self):
        self.output.seek(0)
        return self.output.read()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(WAIT_SECONDS)

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            time.sleep(0.1)
            self.process.send_signal(signal.SIGINT)  # at once
            self.process.wait(WAIT_SECONDS)
        self.output.close()


class Top:
    """`weft top` on a terminal of its own; `screen` is what is seen, `sent` all that it wrote."""

    def __init__(self, arguments, rows=24, columns=100, term="xterm-256color"):
        self.master, self.slave = pty.openpty()
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.sent = b""
        self.set_size(rows, columns)
        self.settings = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            [OPTIONS.weft, "top", *arguments], stdin=self.slave, stdout=self.slave, stderr=self.slave,
            env={**os.environ, "TERM": term, "LC_ALL": "C.UTF-8"}, preexec_fn=self.take_terminal)

    def take_terminal(self):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def set_size(self, rows, columns):
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        while select.select([self.master], [], [], 0.05)[0]:
            data = os.read(self.master, 65536)
            self.sent += data
            self.stream.feed(data)

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def wait_for(self, found, what):
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            self.read()
            result = found(self.text())
            if result:
                return result
            if self.process.poll() is not None:
                break
        raise AssertionError(f"no {what} (exit code {self.process.poll()}):\n{self.text()}")

    def iteration(self):
        return int(self.wait_for(lambda text: re.search(r"iteration (\d+)/100000", text), "iteration").group(1))

    def type(self, keys):
        os.write(self.master, keys)

    def wait_for_exit(self):
        deadline = time.monotonic() + WAIT_SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            self.read()  # a full terminal would hold it up
        self.read()
        return self.process.poll()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


class TopTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weft-top-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_job(self, name="run"):
        run = Run(self.folder, name)
        self.addCleanup(run.close)
        run.wait_until_training()
        return run

    def top(self, *arguments, **more):
        top = Top([str(one) for one in arguments], **more)
        self.addCleanup(top.close)
        return top

    def assert_restored(self, top):
        self.assertEqual(termios.tcgetattr(top.slave), top.settings)
        # Off the other screen again, with a cursor that is seen.
        self.assertIn(b"\x1b[?1049h", top.sent)
        self.assertGreater(top.sent.rfind(b"\x1b[?1049l"), top.sent.rfind(b"\x1b[?1049h"))
        self.assertGreater(top.sent.rfind(b"\x1b[?25h"), top.sent.rfind(b"\x1b[?25l"))

    def check_quit(self, run, how):
        top = self.top(run.directory)
        top.iteration()
        how(top)
        self.assertEqual(top.wait_for_exit(), 0)
        self.assert_restored(top)
        self.assertIn(b"worker 1", top.sent[top.sent.rfind(b"\x1b[?1049l"):])  # the final figures

    def test_RunningJob_IsSeenResizedAndLeft(self):
        run = self.run_job()
        self.assertIn(f"weft top {run.directory}", run.told())
        top = self.top(run.directory)
        first = top.iteration()
        self.assertNotEqual(termios.tcgetattr(top.slave), top.settings)
        top.wait_for(lambda text: re.search(r"iteration (\d+)/100000", text) and
                     int(re.search(r"iteration (\d+)/100000", text).group(1)) > first, "further iteration")
        text = top.text()
        for words in ("weft top  small  InterleavedPS T=2  training", "worker 0", "worker 1", "server 0", "serving",
                      "images/s", "stall", "drift", os.uname().nodename[:24]):
            self.assertIn(words, text)
        # Narrower and too low for all ranks; then wide.
        top.set_size(9, 40)
        top.wait_for(lambda text: re.search(r"ranks 1-\d of 3, arrows scroll", text), "page of ranks")
        self.assertNotIn("server 0", top.text())
        top.type(b"\x1bOB\x1bOB")
        top.wait_for(lambda text: "server 0" in text, "scrolled rank")
        top.set_size(30, 160)
        top.wait_for(lambda text: "STALE" in text and "worker 0" in text, "wide table")
        top.type(b"q")
        self.assertEqual(top.wait_for_exit(), 0)
        self.assert_restored(top)

        self.check_quit(run, lambda top: top.type(b"\x1b"))
        self.check_quit(run, lambda top: top.type(b"\x03"))
        self.check_quit(run, lambda top: top.process.send_signal(signal.SIGTERM))
        unknown = self.top(run.directory, term="no-such-terminal")
        self.assertEqual(unknown.wait_for_exit(), 1)
        self.assertIn("no-such-terminal", unknown.text())
        self.assertEqual(termios.tcgetattr(unknown.slave), unknown.settings)

        # The same without a terminal, found by its address.
        address = (run.directory / "coordinator").read_text().strip()
        for arguments in (["--coordinator", address], [run.directory, "--once"]):
            done = subprocess.run([OPTIONS.weft, "top", *arguments], capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=WAIT_SECONDS)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertNotIn("\x1b", done.stdout)
            self.assertRegex(done.stdout, r"iteration [1-9]\d*/100000")
            self.assertRegex(done.stdout, r"worker 1 +\S+ +training +[1-9]")

        # The run ends: so does what watches it, with the final figures.
        top = self.top(run.directory)
        top.iteration()
        run.stop()
        self.assertEqual(top.wait_for_exit(), 0)
        self.assert_restored(top)
        self.assertIn("the run ended with exit code 130", top.text())
        ended = subprocess.run([OPTIONS.weft, "top", run.directory], capture_output=True, text=True,
                               timeout=WAIT_SECONDS)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("this run has ended", ended.stderr)

    def test_CoordinatorThatDies_IsTold(self):
        run = self.run_job()
        top = self.top(run.directory)
        top.iteration()
        children = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(run.process.pid)], capture_output=True,
                                  text=True).stdout
        os.kill(int(re.search(r"(\d+) \S*weft-coordinator", children).group(1)), signal.SIGKILL)
        self.assertEqual(top.wait_for_exit(), 1)
        self.assert_restored(top)
        self.assertRegex(top.text(), r"weft: top: the coordinator at unix:\S+")
        run.process.wait(WAIT_SECONDS)
        self.assertFalse((run.directory / "coordinator").exists())

    def test_BadInput_IsOneLineAndTheRightExitCode(self):
        (self.folder / "empty").mkdir()
        stale = self.folder / "stale"
        stale.mkdir()
        (stale / "job.yaml").write_text(JOB)
        for arguments, code, words in (
                ([], 2, "is needed"),
                (["a", "--coordinator", "b:1"], 2, "exclude each other"),
                ([self.folder / "nowhere"], 2, "No such file"),
                ([self.folder / "empty"], 2, "holds no run"),
                ([stale], 2, "does not go on"),
                (["--coordinator", "host"], 2, "neither HOST:PORT nor unix:PATH"),
                (["--coordinator", "host:70000"], 2, "neither HOST:PORT nor unix:PATH"),
                (["--coordinator", "unix:/nowhere/c"], 2, "no socket at /nowhere/c"),
                (["--coordinator", "127.0.0.1:1"], 1, "nobody answers at 127.0.0.1:1")):
            done = subprocess.run([OPTIONS.weft, "top", *arguments], capture_output=True, text=True,
                                  timeout=WAIT_SECONDS)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--weft", required=True, type=os.path.abspath)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
