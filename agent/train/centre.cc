#include "agent/train/centre.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>

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
