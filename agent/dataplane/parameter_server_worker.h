// A worker's side of the three parameter-server strategies (docs/design/parameter-server.md). With one worker nothing
// is exchanged, whatever the strategy, and no server is needed.
#pragma once

#include <memory>

#include "agent/dataplane/data_plane.h"
#include "agent/dataplane/parameter_server_options.h"
#include "agent/transport/transport.h"
#include "common/clock.h"
#include "common/plan/plan.h"
#include "common/status.h"

namespace weft {

// This process is the transport's rank k < plan.workers. All workers start from the same weights, which are the
// servers' initial ones. The transport and the clock (which must run as the steady one does) outlive the plane. A plane
// that is destroyed before Finish has succeeded aborts the transport.
// INVALID_ARGUMENT: as ValidateParameterServer, groups that do not tile the model's layers, or a rank that is not a
// worker's.
Result<std::unique_ptr<DataPlane>> MakeParameterServerWorker(const ParameterServerOptions& options, const Plan& plan,
                                                             const ModelView& model, LocalStep local_step,
                                                             Transport& transport, Clock& clock);

}  // namespace weft
