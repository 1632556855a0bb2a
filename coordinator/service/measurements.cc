#include "coordinator/service/measurements.h"

#include <algorithm>
#include <string>

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
  const int server = static_cast<int>(link.peer_rank()) - workers_;
  if (!fitted.ok()) {
    return fitted.status().WithContext("link of worker " + std::to_string(worker) + " to server " +
                                       std::to_string(server));
  }
  links_.insert_or_assign({worker, server}, *fitted);
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

std::vector<std::vector<Link>> Measurements::Links() const {
  std::vector<std::vector<Link>> links(static_cast<std::size_t>(workers_));
  for (int worker = 0; worker < workers_; ++worker) {
    for (int server = 0; server < servers_; ++server) {
      links[static_cast<std::size_t>(worker)].push_back(links_.at({worker, server}));
    }
  }
  return links;
}

}  // namespace weft
