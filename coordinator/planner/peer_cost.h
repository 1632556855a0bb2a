// What a plan without servers will cost: equal workers, no jitter, closed forms. The simulator plays the same event by
// event.
#pragma once

#include "common/plan/plan.h"
#include "coordinator/planner/links.h"
#include "coordinator/planner/planner.h"

namespace weft {

// Sets iteration_us, link_use and each group's window, transfer_us and stall_us. With C the compute, b the model's
// bytes (b_n a group's), alpha and beta of the worst peer link, d the largest number of neighbours, P workers:
//
//   AllReduce  c_n = alpha 2(P-1) + beta 2 b_n (P-1)/P; done_n = max(done_{n-1}, ready_n) + c_n; the group's next
//              forward waits
//   LocalSGD   the same in one iteration of H
//   DPSGD      AdaptThenCombine: as LocalSGD with H = 1, c_n = alpha + beta b_n d; CombineThenAdapt: max(C, alpha +
//              beta b d), since the weights leave at the start of the iteration and are waited for at its end
//   SGP        overlap 0: C + x, x = alpha + beta m b, m the messages that meet at a port; overlap tau: what was sent
//              has tau iterations, max(C, beta b, (C + x) / (tau + 1))
//   ADPSGD     E max(C, x) + f, x = 3 alpha + 2 beta b k + what averaging takes, k those that have drawn the same
//              partner, f what taking the shared model and adding the step to it takes of the processor
//   Swarm      E max(H C, U R + x) / H + f / H, R the round itself, U uniform in [0, 3/4], x the interaction, with
//   those
//              that begin again since another delta came between
//
// Of ADPSGD and Swarm an averaging is waited for until exchange_timeout at most. Where it takes longer by itself, fewer
// are begun, and wire_bytes is as much less.
void PredictPeers(const PlanRequest& request, const PeerLinks& links, Plan* plan);

}  // namespace weft
