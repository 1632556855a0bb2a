// A whole run within this process: a coordinator, and its ranks as threads over the loopback transport. Small data of
// its own: 10 classes of 28 x 28 images, or text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/job/job_spec.h"
#include "common/plan/plan.h"

namespace weft {

struct ThreadRunOutcome {
  int exit_code = -1;
  std::string message;
  nlohmann::json summary;
  std::vector<std::string> notes;
};

// Writes data sets under a folder, for `data.path`.
void WriteSmallImages(const std::string& folder, int train, int test);
void WriteSmallText(const std::string& path, int bytes);

// A plan for the job, made from invented times.
Plan InventedPlan(const JobSpec& job);

// Runs the job in `yaml` in `directory`, with that plan. Ends within two minutes.
ThreadRunOutcome RunInThreads(const std::string& yaml, const std::string& directory);

}  // namespace weft
