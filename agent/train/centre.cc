#include "agent/train/centre.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>

#include "agent/dataplane/data_plane.h"

namespace weft {
namespace {

Status Place(const StateTensor& tensor, int server, std::vector<float>& weights) {
  std::size_t first = 0;
  const char* end = tensor.name.data() + tensor.name.size();
  const auto [rest, error] = std::from_chars(tensor.name.data(), end, first);
  if (error != std::errc{} || rest != end || first > weights.size() || tensor.values.size() > weights.size() - first) {
    return DataLossError("server " + std::to_string(server) +
                         " sent a part of the centre that has no place: " + tensor.name);
  }
  std::ranges::copy(tensor.values, weights.begin() + static_cast<std::ptrdiff_t>(first));
  return OkStatus();
}

}  // namespace

StateMessage PartOfCentre(const CentreSnapshot& snapshot, std::int64_t iteration, bool final) {
  StateMessage message{.iteration = iteration, .final = final, .tensors = {}};
  for (std::size_t i = 0; i < snapshot.shards.size(); ++i) {
    message.tensors.push_back({std::to_string(snapshot.shards[i].first), *snapshot.values[i]});
  }
  return message;
}

namespace {

// What `from` has by the old plan and `to` needs by the next one.
std::vector<FloatRange> Moves(const Plan& old, const Plan& next, int from, int to) {
  std::vector<FloatRange> moves;
  for (const Shard& had : old.shards) {
    if (had.server != from) continue;
    for (const Shard& needed : next.shards) {
      if (needed.server != to) continue;
      const std::int64_t begin = std::max(had.first, needed.first);
      const std::int64_t end = std::min(had.first + had.count, needed.first + needed.count);
      if (begin < end) moves.push_back({begin, end - begin});
    }
  }
  return moves;
}

Status SendMoves(RankContext& context, int to, std::int64_t iteration, const std::vector<FloatRange>& moves,
                 const std::vector<float>& weights) {
  if (moves.empty()) return OkStatus();
  StateMessage message{.iteration = iteration, .final = false, .tensors = {}};
  for (const FloatRange& move : moves) {
    const auto begin = weights.begin() + move.first;
    message.tensors.push_back({std::to_string(move.first), {begin, begin + move.count}});
  }
  return SendState(*context.transport, context.server_rank(to), StatePurpose::kChangeOfPlan, message,
                   context.state_deadline());
}

Status ReceiveMoves(RankContext& context, int from, std::int64_t iteration, const std::vector<FloatRange>& moves,
                    std::vector<float>& weights) {
  if (moves.empty()) return OkStatus();
  WEFT_ASSIGN_OR_RETURN(const StateMessage message,
                        ReceiveState(*context.transport, context.server_rank(from), StatePurpose::kChangeOfPlan,
                                     context.state_deadline()));
  if (message.iteration != iteration || message.tensors.size() != moves.size()) {
    return DataLossError("server " + std::to_string(from) + " changes to another plan, or behind another iteration");
  }
  for (const StateTensor& tensor : message.tensors) WEFT_RETURN_IF_ERROR(Place(tensor, from, weights));
  return OkStatus();
}

}  // namespace

Result<std::vector<float>> MoveCentre(RankContext& context, const Plan& old, const Plan& next,
                                      const CentreSnapshot& own) {
  const int me = context.rank - context.workers;
  const std::int64_t iteration = next.from_iteration - 1;
  std::vector<float> weights(static_cast<std::size_t>(context.parameter_count()));
  own.CopyTo(weights);
  // Pair by pair in one order on all servers, the lower one sends first: nobody waits in a circle.
  for (int low = 0; low < context.servers; ++low) {
    for (int high = low + 1; high < context.servers; ++high) {
      if (low != me && high != me) continue;
      const int other = low == me ? high : low;
      const std::vector<FloatRange> out = Moves(old, next, me, other);
      const std::vector<FloatRange> in = Moves(old, next, other, me);
      if (low == me) WEFT_RETURN_IF_ERROR(SendMoves(context, other, iteration, out, weights));
      WEFT_RETURN_IF_ERROR(ReceiveMoves(context, other, iteration, in, weights));
      if (high == me) WEFT_RETURN_IF_ERROR(SendMoves(context, other, iteration, out, weights));
    }
  }
  return weights;
}

bool HoldsShards(const Plan& plan, int server) {
  return std::ranges::any_of(plan.shards, [server](const Shard& shard) { return shard.server == server; });
}

Result<std::vector<float>> AssembleCentre(RankContext& context, const Plan& plan, const CentreSnapshot& own,
                                          std::int64_t iteration, StatePurpose purpose) {
  std::vector<float> weights(static_cast<std::size_t>(context.parameter_count()));
  own.CopyTo(weights);
  for (int server = 1; server < context.servers; ++server) {
    if (!HoldsShards(plan, server)) continue;
    WEFT_ASSIGN_OR_RETURN(const StateMessage part, ReceiveState(*context.transport, context.server_rank(server),
                                                                purpose, context.state_deadline()));
    // The last parts belong together; a server without shards does not know of which iteration they are.
    if (!part.final && part.iteration != iteration) {
      return DataLossError("server " + std::to_string(server) + " sent its centre of iteration " +
                           std::to_string(part.iteration) + ", not of " + std::to_string(iteration));
    }
    for (const StateTensor& tensor : part.tensors) WEFT_RETURN_IF_ERROR(Place(tensor, server, weights));
  }
  return weights;
}

}  // namespace weft
