// Golden scripts for the generation: a line that begins with '>' is told to it, the lines after it are what it asks
// for, in order.
#pragma once

#include <string>
#include <vector>

#include "coordinator/membership/generation.h"

namespace weft {

// Runs the script `expected` and compares what really comes after each line, once the lines of `before` were told.
void ExpectScript(GenerationOptions options, const std::string& expected, const std::vector<std::string>& before = {});

GenerationOptions TwoWorkersAndAServer();
// The same, with nothing to be measured.
GenerationOptions WithPlan();

// What is told before the training begins.
extern const std::vector<std::string> kTraining;
extern const std::vector<std::string> kAsynchronousTraining;

}  // namespace weft
