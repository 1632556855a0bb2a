// The centre of all servers together, on server 0.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/dataplane/parameter_server.h"
#include "agent/train/rank_context.h"
#include "agent/train/state_exchange.h"
#include "common/plan/plan.h"
#include "common/status.h"

namespace weft {

// This server's shards as a message to server 0: one tensor a shard, named by its place in the flat vector.
StateMessage PartOfCentre(const CentreSnapshot& snapshot, std::int64_t iteration, bool final);

// The centre for this server's shards of plan `next`, in its place in the flat vector, when all servers change from
// `old` to `next` behind one iteration: what of it other servers have had they send, and get what they need. `own` is
// this server's part of old. All servers call it. Errors: as SendState and ReceiveState; DATA_LOSS, as AssembleCentre.
Result<std::vector<float>> MoveCentre(RankContext& context, const Plan& old, const Plan& next,
                                      const CentreSnapshot& own);

// Whether `server` holds any of the centre. A plan of few groups may leave servers without a shard; they send no part.
bool HoldsShards(const Plan& plan, int server);

// On server 0: its own part and the parts that the other servers that hold shards send for the same occasion, as one
// flat vector of weights. Errors: as ReceiveState; DATA_LOSS, a part of another iteration or of no place in the vector.
Result<std::vector<float>> AssembleCentre(RankContext& context, const Plan& plan, const CentreSnapshot& own,
                                          std::int64_t iteration, StatePurpose purpose);

}  // namespace weft
