"""build/bench/results.json: what was measured, once a point, and what stands over all.

{"machine": {...}, "points": [{"key", "part", "settings", "version", "time", "seconds", "command", "values"}]}

A point's key is a hash of its settings (which name the repetition) and of the version of what was measured. A point
that is there with its key is not measured again, so that a run that was stopped goes on where it was.
"""

import hashlib
import json
import os
import time


def point_key(settings, version):
    text = json.dumps([settings, version], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Results:
    def __init__(self, path):
        self.path = path
        self.data = {"machine": {}, "points": []}
        if path.exists():
            self.data = json.loads(path.read_text(encoding="utf-8"))
        self._by_key = {point["key"]: point for point in self.data["points"]}

    def find(self, settings, version):
        return self._by_key.get(point_key(settings, version))

    def add(self, part, settings, version, seconds, command, values):
        point = {"key": point_key(settings, version), "part": part, "settings": settings, "version": version,
                 "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "seconds": round(seconds, 1),
                 "command": command, "values": values}
        self._by_key[point["key"]] = point
        self.data["points"] = list(self._by_key.values())
        self.save()
        return point

    def points(self, part, version_of):
        """Those of a part, of the version that is there now (`version_of(settings)`)."""
        return [point for point in self.data["points"]
                if point["part"] == part and point["version"] == version_of(point["settings"])]

    def save(self):
        """Under another name first: a run that is stopped leaves the file as it was."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text(json.dumps(self.data, indent=1), encoding="utf-8")
        os.replace(temporary, self.path)
