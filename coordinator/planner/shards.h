// Which server keeps what: groups are spread over the servers by bytes.
#pragma once

#include <span>
#include <vector>

#include "common/plan/plan.h"
#include "coordinator/planner/fusion.h"

namespace weft {

// Shards by group and then by float; every float of the model's flat weight vector is in exactly one.
//
// Each phase (groups whose indices are equal mod T) is balanced by itself, since only one phase is on the links at a
// time: the largest group goes first, to the server that has least. Where that leaves a server more than 5 % above its
// share, and the time that costs is above a transfer's latency, the phase's floats are cut into equal parts instead,
// which splits at most S - 1 groups. `link` is as in Fuse.
std::vector<Shard> SpreadShards(const Timeline& timeline, std::span<const LayerRun> runs, int period, int servers,
                                const Link& link);

}  // namespace weft
