#include "coordinator/planner/shards.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weft {
namespace {

struct GroupFloats {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

std::vector<GroupFloats> FloatsOfRuns(const Timeline& timeline, std::span<const LayerRun> runs) {
  std::vector<GroupFloats> floats(runs.size());
  std::int64_t next = 0;
  for (std::size_t n = runs.size(); n-- > 0;) {
    floats[n].first = next;
    for (int i = runs[n].first_layer; i <= runs[n].last_layer; ++i) {
      next += FloatsOf(timeline.layers[static_cast<std::size_t>(i)].bytes);
    }
    floats[n].count = next - floats[n].first;
  }
  return floats;
}

// `load` is what each server has over all phases: it breaks ties, so that they even out too.
std::size_t LeastLoaded(const std::vector<std::int64_t>& in_phase, const std::vector<std::int64_t>& load) {
  std::size_t least = 0;
  for (std::size_t s = 1; s < load.size(); ++s) {
    if (in_phase[s] < in_phase[least] || (in_phase[s] == in_phase[least] && load[s] < load[least])) least = s;
  }
  return least;
}

}  // namespace

std::vector<Shard> SpreadShards(const Timeline& timeline, std::span<const LayerRun> runs, int period, int servers,
                                const Link& link) {
  const std::vector<GroupFloats> floats = FloatsOfRuns(timeline, runs);
  const auto step = static_cast<std::size_t>(period);
  const auto server_count = static_cast<std::size_t>(servers);
  std::vector<std::int64_t> load(server_count, 0);
  std::vector<std::vector<Shard>> by_group(runs.size());

  for (std::size_t residue = 0; residue < std::min(step, runs.size()); ++residue) {
    std::vector<std::size_t> members;
    std::int64_t total = 0;
    for (std::size_t n = residue; n < runs.size(); n += step) {
      members.push_back(n);
      total += floats[n].count;
    }
    std::vector<std::size_t> by_size = members;
    std::stable_sort(by_size.begin(), by_size.end(),
                     [&](std::size_t a, std::size_t b) { return floats[a].count > floats[b].count; });
    std::vector<std::int64_t> in_phase(server_count, 0);
    std::vector<std::size_t> server_of(runs.size());
    for (const std::size_t n : by_size) {
      const std::size_t server = server_count == 1 ? 0 : LeastLoaded(in_phase, load);
      server_of[n] = server;
      in_phase[server] += floats[n].count;
    }
    const double share = static_cast<double>(total) / static_cast<double>(servers);
    const double excess = static_cast<double>(*std::max_element(in_phase.begin(), in_phase.end())) - share;
    const bool cut = excess > 0.05 * share && link.us_per_byte * 4 * excess > link.latency_us && total >= servers;
    if (!cut) {
      for (const std::size_t n : members) {
        by_group[n].push_back({.group = static_cast<int>(n),
                               .server = static_cast<int>(server_of[n]),
                               .first = floats[n].first,
                               .count = floats[n].count});
      }
      for (std::size_t s = 0; s < server_count; ++s) load[s] += in_phase[s];
      continue;
    }
    // Server s gets the phase's floats [total s / S, total (s+1) / S), highest group first.
    std::int64_t done = 0;
    std::int64_t server = 0;
    for (std::size_t m = members.size(); m-- > 0;) {
      const std::size_t n = members[m];
      std::int64_t first = floats[n].first;
      std::int64_t left = floats[n].count;
      while (left > 0) {
        // total < 2^48 floats and there are under 2^12 servers.
        const std::int64_t server_end = total * (server + 1) / servers;
        const std::int64_t count = std::min(left, server_end - done);
        if (count > 0) {
          by_group[n].push_back(
              {.group = static_cast<int>(n), .server = static_cast<int>(server), .first = first, .count = count});
          load[static_cast<std::size_t>(server)] += count;
        }
        first += count;
        left -= count;
        done += count;
        if (done == server_end) ++server;
      }
    }
  }
  std::vector<Shard> shards;
  for (const std::vector<Shard>& group : by_group) shards.insert(shards.end(), group.begin(), group.end());
  return shards;
}

}  // namespace weft
