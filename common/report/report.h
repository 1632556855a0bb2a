// report.html: what a run directory holds, to look at. One file that needs nothing else and no network; the data stand
// in it as JSON, the rest is common/report/page with Chart.js inlined (docs/design/report.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "common/status.h"

namespace weft {

// What the page shows of one run: job.yaml's text, plan.json (without each layer's name and without shards),
// summary.json, and metrics.jsonl as common/report/metrics_reader.h gives it. What is missing or can't be read is left
// out, and a line in "notes" says so.
// INVALID_ARGUMENT: `directory` is no run directory.
Result<nlohmann::ordered_json> ReadRun(const std::string& directory);

// The page that shows `runs`, each as ReadRun gives it; of several it compares.
std::string RenderReport(const nlohmann::ordered_json& runs);

// The page of the runs in `directories`, written to `path` (atomically). Errors as ReadRun, and those of the file.
Status WriteReport(std::span<const std::string> directories, const std::string& path);

}  // namespace weft
