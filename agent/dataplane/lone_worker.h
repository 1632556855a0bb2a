// The plane of a run with one worker, whatever the strategy: nothing is exchanged, and each gradient is stepped as soon
// as it is ready. One thread calls.
#pragma once

#include <cstddef>
#include <memory>

#include "agent/dataplane/data_plane.h"
#include "common/clock.h"

namespace weft {

std::unique_ptr<DataPlane> MakeLoneWorker(std::size_t groups, ModelView model, LocalStep local_step, Clock& clock);

}  // namespace weft
