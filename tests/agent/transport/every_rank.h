// The seam between the suite and the implementation under test: a program links transport_suite.cc with one of
// loopback_ranks.cc and mpi_ranks.cc.
#pragma once

#include <functional>

#include "agent/transport/transport.h"

namespace weft {

int TestWorldSize();

// Runs `rank_main` once for every rank (in this process or in one each) and returns when all have ended.
void OnEveryRank(const std::function<void(Transport&)>& rank_main);

}  // namespace weft
