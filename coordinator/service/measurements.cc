#include "coordinator/service/measurements.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/plan/json.h"

namespace weft {

Status Measurements::AddProfile(int worker, const v1::ProfileResult& profile) {
  WEFT_ASSIGN_OR_RETURN(Timeline timeline, ParseTimeline(profile.timeline_json()));
  if (!timelines_.empty() && timelines_.begin()->second.layers.size() != timeline.layers.size()) {
    return InvalidArgumentError("timeline of worker " + std::to_string(worker) + ": " +
                                std::to_string(timeline.layers.size()) + " layers are not the " +
                                std::to_string(timelines_.begin()->second.layers.size()) + " of the others");
  }
  timelines_.insert_or_assign(worker, std::move(timeline));
  compute_seconds_.insert(compute_seconds_.end(), profile.iteration_seconds().begin(),
                          profile.iteration_seconds().end());
  return OkStatus();
}

Status Measurements::AddLink(int worker, const v1::LinkResult& link) {
  std::vector<LinkSample> samples;
  for (const v1::LinkSample& sample : link.samples()) samples.push_back({sample.bytes(), sample.seconds()});
  Result<Link> fitted = FitLink(samples);
  const int peer = static_cast<int>(link.peer_rank());
  if (!fitted.ok()) {
    return fitted.status().WithContext(
        "link of worker " + std::to_string(worker) + " to " +
        (peer < workers_ ? "worker " + std::to_string(peer) : "server " + std::to_string(peer - workers_)));
  }
  links_.insert_or_assign({worker, peer}, *fitted);
  return OkStatus();
}

Timeline Measurements::SlowestTimeline() const {
  WEFT_CHECK(!timelines_.empty()) << "no profile";
  Timeline slowest = timelines_.begin()->second;
  for (const auto& [worker, timeline] : timelines_) {
    for (std::size_t l = 0; l < slowest.layers.size(); ++l) {
      LayerTiming& layer = slowest.layers[l];
      const LayerTiming& other = timeline.layers[l];
      layer.forward_us = std::max(layer.forward_us, other.forward_us);
      layer.backward_us = std::max(layer.backward_us, other.backward_us);
      layer.backward_start_us = std::max(layer.backward_start_us, other.backward_start_us);
    }
    slowest.optimizer_us = std::max(slowest.optimizer_us, timeline.optimizer_us);
    slowest.end_us = std::max(slowest.end_us, timeline.end_us);
  }
  return slowest;
}

std::vector<std::vector<Link>> Measurements::ServerLinks() const {
  std::vector<std::vector<Link>> links;
  for (int worker = 0; worker < workers_; ++worker) {
    std::vector<Link> of_worker;
    for (int server = workers_; server < workers_ + servers_; ++server) {
      const auto link = links_.find({worker, server});
      if (link == links_.end()) return {};
      of_worker.push_back(link->second);
    }
    links.push_back(std::move(of_worker));
  }
  return links;
}

std::vector<Link> Measurements::PeerLinks() const {
  std::vector<Link> links;
  for (int worker = 0; worker < workers_; ++worker) {
    if (const auto link = links_.find({worker, (worker + 1) % workers_}); link != links_.end()) {
      links.push_back(link->second);
    }
  }
  return links;
}

}  // namespace weft
