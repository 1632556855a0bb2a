// Whether a plan was made for a model. The plan's own rules are common/plan/json.h's.
#pragma once

#include <span>

#include "agent/model/model.h"
#include "common/plan/plan.h"
#include "common/status.h"

namespace weft {

// `layers`: the model's, in forward order. INVALID_ARGUMENT names the first group of the plan that has a layer which
// the model has not, another name for it, or other bytes than its layers' floats; or a layer with parameters in no
// group.
Status CheckPlanFitsModel(const Plan& plan, std::span<const Layer> layers);

}  // namespace weft
