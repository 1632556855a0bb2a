// What a transfer costs: t(b) = alpha + beta * b for b bytes over one link, fitted to ping-pongs and looked up per
// pair.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/plan/plan.h"
#include "common/status.h"

namespace weft {

struct LinkSample {
  std::int64_t bytes = 0;
  double seconds = 0;  // one way
};

// The non-negative least-squares fit of alpha (latency_us) and beta (us_per_byte):
//   min over alpha, beta >= 0 of sum (alpha + beta b - t)^2.
// An alpha below 0 is clamped to 0 and beta fitted again, and the reverse. Samples of a single size give alpha = 0.
// INVALID_ARGUMENT: no samples, a size below 1, or a time that is negative or not finite.
Result<Link> FitLink(std::span<const LinkSample> samples);

// The links between all workers and all servers.
class LinkTable {
 public:
  // `links` is [worker][server]; a single [0][0] stands for every pair.
  // INVALID_ARGUMENT: another shape, or a value that is negative or not finite.
  static Result<LinkTable> Make(std::vector<std::vector<Link>> links, int workers, int servers);

  const Link& at(int worker, int server) const {
    return uniform_ ? links_[0][0] : links_[static_cast<std::size_t>(worker)][static_cast<std::size_t>(server)];
  }
  // The largest latency and the largest time per byte of all pairs.
  const Link& worst() const { return worst_; }

 private:
  std::vector<std::vector<Link>> links_;
  bool uniform_ = true;
  Link worst_;
};

// The links among workers: each has one port, as fast as its link to the next worker.
class PeerLinks {
 public:
  // `links` is by worker; a single one stands for all. One worker needs none.
  // INVALID_ARGUMENT: another number, or a value that is negative or not finite.
  static Result<PeerLinks> Make(std::vector<Link> links, int workers);

  const Link& of(int worker) const { return links_.size() == 1 ? links_[0] : links_[static_cast<std::size_t>(worker)]; }
  // The larger latency and the larger time per byte of the two.
  Link between(int a, int b) const;
  // The largest latency and the largest time per byte of all.
  const Link& worst() const { return worst_; }

 private:
  std::vector<Link> links_;
  Link worst_;
};

}  // namespace weft
