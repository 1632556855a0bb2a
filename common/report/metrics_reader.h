// Reads metrics.jsonl (docs/format/metrics-jsonl.md) for a report: once for the curves, and once more for the transfers
// of a few periods. Lines that are torn, or are none of the format's, are counted and left out.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/status.h"

namespace weft {

// What a report shows of the file. Times are microseconds unless they are said to be seconds.
//   curves, workers   common/report/curves.h
//   evaluations       [{iteration, epoch, seconds, loss, accuracy, worst_accuracy?, final}]
//   variance          {iteration: […], seconds: […], value: […], relative_error: […]}: Gamma
//   group_stall_us    by group: the mean over the iterations of all workers
//   periods           by place in the run: the transfers of `period` iterations, for the slot chart; none with 0
//   iterations, iterations_per_epoch, left_out
// NOT_FOUND and other errors of the file.
Result<nlohmann::ordered_json> ReadMetrics(const std::string& path, int period);

}  // namespace weft
