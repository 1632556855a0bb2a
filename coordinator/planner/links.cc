#include "coordinator/planner/links.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace weft {

namespace {

Status CheckLink(const std::string& path, const Link& link) {
  if (!std::isfinite(link.latency_us) || link.latency_us < 0) {
    return InvalidArgumentError(path + ": a latency of " + std::to_string(link.latency_us) + " us");
  }
  if (!std::isfinite(link.us_per_byte) || link.us_per_byte < 0) {
    return InvalidArgumentError(path + ": " + std::to_string(link.us_per_byte) + " us a byte");
  }
  return OkStatus();
}

Link Worse(const Link& a, const Link& b) {
  return {.latency_us = std::max(a.latency_us, b.latency_us), .us_per_byte = std::max(a.us_per_byte, b.us_per_byte)};
}

}  // namespace

Result<Link> FitLink(std::span<const LinkSample> samples) {
  if (samples.empty()) return InvalidArgumentError("links: no samples");
  double sum_b = 0;
  double sum_t = 0;
  for (const LinkSample& sample : samples) {
    if (sample.bytes < 1) return InvalidArgumentError("links: " + std::to_string(sample.bytes) + " bytes is below 1");
    if (!std::isfinite(sample.seconds) || sample.seconds < 0) {
      return InvalidArgumentError("links: " + std::to_string(sample.seconds) + " s is not a time");
    }
    sum_b += static_cast<double>(sample.bytes);
    sum_t += sample.seconds * 1e6;
  }
  const double count = static_cast<double>(samples.size());
  const double mean_b = sum_b / count;
  const double mean_t = sum_t / count;
  // About the means: the sizes span four orders of magnitude, and the plain normal equations would cancel.
  double var_b = 0;
  double cov = 0;
  double square_b = 0;
  double product = 0;
  for (const LinkSample& sample : samples) {
    const double b = static_cast<double>(sample.bytes);
    const double t = sample.seconds * 1e6;
    var_b += (b - mean_b) * (b - mean_b);
    cov += (b - mean_b) * (t - mean_t);
    square_b += b * b;
    product += b * t;
  }
  const Link through_origin{.latency_us = 0, .us_per_byte = product / square_b};
  if (var_b == 0) return through_origin;
  const double beta = cov / var_b;
  if (beta < 0) return Link{.latency_us = mean_t, .us_per_byte = 0};
  const double alpha = mean_t - beta * mean_b;
  if (alpha < 0) return through_origin;
  return Link{.latency_us = alpha, .us_per_byte = beta};
}

Result<LinkTable> LinkTable::Make(std::vector<std::vector<Link>> links, int workers, int servers) {
  LinkTable table;
  table.uniform_ = links.size() == 1 && links[0].size() == 1;
  if (!table.uniform_ && links.size() != static_cast<std::size_t>(workers)) {
    return InvalidArgumentError("links: " + std::to_string(links.size()) + " rows for " + std::to_string(workers) +
                                " workers");
  }
  for (std::size_t w = 0; w < links.size(); ++w) {
    const std::string path = "links[" + std::to_string(w) + "]";
    if (!table.uniform_ && links[w].size() != static_cast<std::size_t>(servers)) {
      return InvalidArgumentError(path + ": " + std::to_string(links[w].size()) + " links for " +
                                  std::to_string(servers) + " servers");
    }
    for (const Link& link : links[w]) {
      WEFT_RETURN_IF_ERROR(CheckLink(path, link));
      table.worst_ = Worse(table.worst_, link);
    }
  }
  table.links_ = std::move(links);
  return table;
}

Result<PeerLinks> PeerLinks::Make(std::vector<Link> links, int workers) {
  PeerLinks peers;
  if (links.empty() && workers == 1) links.emplace_back();
  if (links.size() != 1 && links.size() != static_cast<std::size_t>(workers)) {
    return InvalidArgumentError("peer links: " + std::to_string(links.size()) + " for " + std::to_string(workers) +
                                " workers");
  }
  for (std::size_t w = 0; w < links.size(); ++w) {
    WEFT_RETURN_IF_ERROR(CheckLink("peer links[" + std::to_string(w) + "]", links[w]));
    peers.worst_ = Worse(peers.worst_, links[w]);
  }
  peers.links_ = std::move(links);
  return peers;
}

Link PeerLinks::between(int a, int b) const { return Worse(of(a), of(b)); }

}  // namespace weft
