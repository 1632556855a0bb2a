#!/usr/bin/env python3
"""The benchmarks' arithmetic: medians, ratios and their spread, windows, and which points are measured again."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from harness import figures, processes
from harness.results import Results


class Figures(unittest.TestCase):
    def test_ratio_is_that_of_the_medians_and_its_spread_that_within_repetitions(self):
        ratio = figures.Ratio({0: 2.0, 1: 9.0, 2: 4.0}, {0: 1.0, 1: 3.0, 2: 1.0})
        self.assertEqual(ratio.value, 4.0 / 1.0)
        self.assertEqual((ratio.low, ratio.high), (2.0, 4.0))
        self.assertEqual(str(ratio), "4 (2 to 4)")

    def test_ratio_with_a_missing_repetition_spreads_over_those_that_both_have(self):
        ratio = figures.Ratio({0: 2.0, 1: 3.0, 2: 40.0}, {0: 1.0, 1: 1.0})
        self.assertEqual((ratio.low, ratio.high, ratio.repetitions), (2.0, 3.0, 2))

    def test_window_medians_of_a_period_count_each_iteration_once(self):
        # Every third iteration sends and takes 40: the mean of a period is 20 whatever the phase, the median 10.
        self.assertEqual(figures.window_medians([10, 10, 40] * 9 + [10], 3), 20)
        self.assertEqual(figures.window_medians([10] * 16 + [90] * 8, 1), 10)
        self.assertEqual(figures.window_medians([10, 40], 3), 25)

    def test_window_of_a_short_period_holds_enough_to_see_a_seldom_wait(self):
        self.assertEqual(figures.window_medians(([10] * 7 + [90]) * 3, 1), 20)

    def test_significant_keeps_three_digits_and_a_fourth_near_one(self):
        self.assertEqual([figures.significant(v) for v in (4.2194, 0.0236, 231.4, 12345.0, 1.0012, 0.9996, None)],
                         ["4.22", "0.0236", "231", "12,300", "1.001", "1.000", "–"])


class ResumedResults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "results.json"
        self.settings = {"system": "weft", "name": "a", "repetition": 0, "set": {"x": 1}}
        Results(self.path).add("stall", self.settings, "c0ffee", 1.5, "weft run", {"iteration_us": 7})

    def test_point_of_the_same_settings_and_version_is_found_by_the_next_run(self):
        reordered = dict(reversed(self.settings.items()))
        self.assertEqual(Results(self.path).find(reordered, "c0ffee")["values"], {"iteration_us": 7})

    def test_other_settings_repetition_or_version_are_measured_anew(self):
        results = Results(self.path)
        self.assertIsNone(results.find(self.settings | {"repetition": 1}, "c0ffee"))
        self.assertIsNone(results.find(self.settings | {"set": {"x": 2}}, "c0ffee"))
        self.assertIsNone(results.find(self.settings, "decaf"))

    def test_point_measured_again_under_its_key_replaces_the_one_before(self):
        results = Results(self.path)
        results.add("stall", self.settings, "c0ffee", 1.5, "weft run", {"iteration_us": 8})
        self.assertEqual([p["values"]["iteration_us"] for p in Results(self.path).data["points"]], [8])

    def test_report_takes_points_of_the_present_version_only(self):
        results = Results(self.path)
        results.add("stall", self.settings, "decaf", 1.5, "weft run", {"iteration_us": 9})
        present = results.points("stall", lambda settings: "decaf")
        self.assertEqual([p["values"]["iteration_us"] for p in present], [9])


class Processes(unittest.TestCase):
    def test_failing_program_ends_the_others_and_is_named_with_its_words(self):
        commands = [["sleep", "600"], ["sh", "-c", "echo no such thing >&2; exit 3"]]
        with self.assertRaisesRegex(processes.Failed, "(?s)exit code 3.*no such thing"):
            processes.run_all(commands, 60)

    def test_program_that_does_not_end_is_ended_at_its_deadline(self):
        with self.assertRaises(processes.TooLong):
            processes.run(["sleep", "600"], 0.2)


if __name__ == "__main__":
    unittest.main()
