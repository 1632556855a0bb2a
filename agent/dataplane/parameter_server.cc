#include "agent/dataplane/parameter_server.h"

#include <algorithm>
#include <string>

#include "agent/dataplane/server_loop.h"
#include "common/check.h"

namespace weft {

void CentreSnapshot::CopyTo(std::span<float> weights) const {
  for (std::size_t i = 0; i < shards.size(); ++i) {
    WEFT_CHECK(static_cast<std::size_t>(shards[i].first + shards[i].count) <= weights.size());
    std::copy(values[i]->begin(), values[i]->end(), weights.begin() + shards[i].first);
  }
}

Result<std::unique_ptr<ParameterServer>> ParameterServer::Make(const ParameterServerOptions& options, const Plan& plan,
                                                               std::span<const float> initial_weights,
                                                               Transport& transport, Clock& clock) {
  WEFT_RETURN_IF_ERROR(ValidateParameterServer(options, plan, static_cast<std::int64_t>(initial_weights.size())));
  const int server = transport.rank() - plan.workers;
  if (server < 0 || server >= plan.servers) {
    return InvalidArgumentError("rank " + std::to_string(transport.rank()) + " is none of the " +
                                std::to_string(plan.servers) + " servers behind " + std::to_string(plan.workers) +
                                " workers");
  }
  return std::unique_ptr<ParameterServer>(
      std::make_unique<ServerLoop>(options, plan, initial_weights, transport, clock));
}

}  // namespace weft
