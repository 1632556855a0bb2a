#include "coordinator/planner/slots.h"

#include <algorithm>
#include <cstddef>

namespace weft {

std::vector<Window> WindowsAfterBackward(std::span<const double> starts_us, std::span<const double> forward_us,
                                         double end_us, int period, int workers, Tail tail) {
  const std::size_t count = starts_us.size();
  const auto step = static_cast<std::size_t>(period);
  // forward_behind[n]: of all groups with a higher index than n.
  std::vector<double> forward_behind(count, 0);
  for (std::size_t n = count; n-- > 1;) forward_behind[n - 1] = forward_behind[n] + forward_us[n];

  std::vector<Window> windows(count);
  for (std::size_t n = 0; n < count; ++n) {
    Window& window = windows[n];
    window.from_us = n + 1 < count ? starts_us[n + 1] : end_us;
    if (n + 1 + step < count) {
      window.to_us = starts_us[n + 1 + step];
    } else if (n + 1 + step == count) {
      window.to_us = end_us;
    } else {
      window.to_us = end_us + (tail == Tail::kHalf ? 0.5 * (end_us - window.from_us) : forward_behind[n]);
    }
    window.slot_us = (window.to_us - window.from_us) / workers;
  }
  return windows;
}

std::vector<Window> WindowsOverIteration(std::span<const std::vector<ShardCost>> groups, int period, int servers,
                                         int workers, double start_us, double length_us) {
  const std::size_t count = groups.size();
  const auto step = static_cast<std::size_t>(period);
  const auto server_count = static_cast<std::size_t>(servers);
  const auto cell = [&](std::size_t n, int server) {
    return n % step * server_count + static_cast<std::size_t>(server);
  };
  // Both passes add in the same order, so that the last window ends exactly where the iteration does.
  std::vector<double> total(std::min(step, count) * server_count, 0);
  for (std::size_t n = count; n-- > 0;) {
    for (const ShardCost& shard : groups[n]) total[cell(n, shard.server)] += shard.cost_us;
  }
  std::vector<double> used(total.size(), 0);
  std::vector<Window> windows(count);
  for (std::size_t n = count; n-- > 0;) {
    double from = 1;
    double to = 0;
    for (const ShardCost& shard : groups[n]) {
      if (shard.cost_us <= 0) continue;
      double& so_far = used[cell(n, shard.server)];
      const double all = total[cell(n, shard.server)];
      from = std::min(from, so_far / all);
      so_far += shard.cost_us;
      to = std::max(to, so_far / all);
    }
    if (from > to) {
      from = 0;
      to = 1;
    }
    windows[n].from_us = start_us + from * length_us;
    windows[n].to_us = start_us + to * length_us;
    windows[n].slot_us = (windows[n].to_us - windows[n].from_us) / workers;
  }
  return windows;
}

}  // namespace weft
