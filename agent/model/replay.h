// A model that sleeps as long as a timeline says: it stands for a GPU, so that a laptop can try what a cluster would
// do. Its layers are the timeline's, with as many weights; all gradients are 0.
#pragma once

#include <memory>

#include "agent/model/model.h"
#include "common/clock.h"
#include "common/plan/plan.h"

namespace weft {

// Sleeps to points on the clock that follow from the start of the step, so that one late wake-up does not delay what
// comes after it; time that the observer takes is added to them. A step's predictions are the batch's samples, with a
// loss of 0. Evaluate sleeps for one forward, whatever the batch.
//
// Bytes are multiples of 4 and times are not negative; `clock` outlives the model.
std::unique_ptr<Model> MakeReplay(const Timeline& timeline, Clock& clock);

}  // namespace weft
