// The plan for a person: a small aligned table and its sentence.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/plan/plan.h"

namespace weft {

// One line a group, at most `max_rows` of them and then one that tells how many more there are; then iteration against
// compute, and the plan's reason. Ends with a line break.
std::string PlanTable(const Plan& plan, std::size_t max_rows);

// Columns of text, each as wide as its widest cell; the first is aligned to the left, the others to the right. Every
// row has as many cells as the first.
std::string AlignedColumns(const std::vector<std::vector<std::string>>& rows);

// "812 us", "7.50 ms", "1.23 s"; "1.2 MB" in powers of ten; "12 %".
std::string ShowMicroseconds(double us);
std::string ShowBytes(double bytes);
std::string ShowPercent(double share);

}  // namespace weft
