// A worker's line of metrics.jsonl (docs/format/metrics-jsonl.md) as the coordinator writes it, read without a JSON
// parser: a run may have millions of them, and its end waits for them to be read.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "common/report/curves.h"

namespace weft {

// Without the transfers, which are most of a line and come last. Overwrites `group_stall_us`. Nothing for what is
// written in another way, though it may be valid JSON.
std::optional<IterationLine> ScanIterationLine(std::string_view line, std::vector<double>* group_stall_us);

}  // namespace weft
