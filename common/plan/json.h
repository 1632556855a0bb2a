// Timelines and plans as JSON. docs/format/timeline.md and docs/format/plan.md describe both field by field.
#pragma once

#include <string>
#include <string_view>

#include "common/plan/plan.h"
#include "common/status.h"

namespace weft {

// Doubles are written with the digits that give the same bits when read: Parse…(…ToJson(x)) is x.
std::string TimelineToJson(const Timeline& timeline);
std::string PlanToJson(const Plan& plan);

// The timeline in `text`. Backward starts that are not given follow from the sums; end_us from the last gradient.
// INVALID_ARGUMENT, one line with the path: not JSON; a field missing, unknown, or of the wrong type; no layers; a name
// twice; a time that is negative, not finite or over 10^12 us; bytes below 0 or over 2^50; a layer whose backward
// starts before that of the layer behind it.
Result<Timeline> ParseTimeline(std::string_view text);

// The plan in `text`. INVALID_ARGUMENT, one line with the path: not JSON; a field missing or of the wrong type; an
// unknown enumeration value; workers or period below 1, servers where there are none; bits that are none of 0, 2..16,
// or of a strategy that sends floats; shards of a strategy without servers; groups that are not numbered from 0, do not
// cover consecutive layers from the last to the first, or have another phase than their index gives; shards that do not
// tile the floats of the groups.
Result<Plan> ParsePlan(std::string_view text);

}  // namespace weft
