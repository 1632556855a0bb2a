#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "coordinator/planner/pair_averaging.h"
#include "coordinator/planner/peer_traffic.h"
#include "coordinator/planner/processor.h"

namespace weft {
namespace {

constexpr double kSmallBytes = 64;
// As the plane's.
constexpr int kCells = 8;
constexpr int kFoldAt = kCells / 2;
constexpr int kConflicts = 4;
constexpr int kRetries = 2;

class SwarmAveraging : public PairAveraging {
 public:
  explicit SwarmAveraging(const Parts& parts)
      : PairAveraging(parts),
        delta_bytes_(CellBytes(FloatsOf(plan_.groups[0].bytes), plan_.quantization_bits)),
        read_bytes_(RegisterReadBytes(FloatsOf(plan_.groups[0].bytes), plan_.quantization_bits)),
        costs_(SwarmCostsOf(plan_)),
        nodes_(neighbours_.size()) {
    for (std::size_t w = 0; w < nodes_.size(); ++w) nodes_[w].lingering.assign(neighbours_[w].size(), false);
  }

  void Begin(int w) override {
    Node& node = nodes_[Size(w)];
    const double now = network_.now();
    const double round_us = node.rounds++ == 0 ? plan_.period * request_.timeline.compute_us() : now - node.round_start;
    node.round_start = now;
    FoldAndPublish(w, [] {});
    // One that has not begun by now begins at once, instead of this round's.
    if (node.due) return StartDue(w);
    node.retries = kRetries;
    node.due = now + kSwarmWindow * DrawUnit() * round_us;
    After(*node.due - now, [this, w] { StartDue(w); });
  }

  void Await(int w, std::function<void()> then) override {
    Node& node = nodes_[Size(w)];
    if (!node.due && !node.active) return then();
    node.waiting = std::move(then);
    if (node.due) node.due = network_.now();
    StartDue(w);
    After(request_.peers.exchange_timeout_us, [this, w, round = node.rounds] {
      if (nodes_[Size(w)].rounds == round) GoOn(w);
    });
  }

 private:
  // What is folded waits in the queue for others, until it is published.
  enum class Cell { kFree, kClaimed, kReady, kFolded };
  struct Node {
    std::int64_t rounds = 0;  // begun
    double round_start = 0;
    std::array<Cell, kCells> cells{};
    std::optional<double> due;    // when this round's interaction begins, where it has not
    int retries = 0;              // of this round's
    std::int64_t number = 0;      // of interactions
    bool active = false;          // the last one has not ended
    double start = 0;             // of the last one
    int conflicts = 0;            // of the last one
    bool rests = false;           // the last one waits to begin again, with no operation under way
    std::vector<bool> lingering;  // by neighbour: one was given up, but an operation of it has not ended
    std::function<void()> waiting;
  };
  // An interaction; copied along.
  struct One {
    int w = 0;
    int n = 0;  // the partner's place among the neighbours
    int with = 0;
    std::int64_t number = 0;
    std::uint32_t claims = 0;  // of the partner's cells, as read
    int cell = -1;
  };

  static std::uint32_t Bit(int cell) { return 1U << static_cast<unsigned>(cell); }
  std::uint32_t Claims(int w) const {
    std::uint32_t claims = 0;
    for (int c = 0; c < kCells; ++c) claims |= nodes_[Size(w)].cells[Size(c)] == Cell::kFree ? 0 : Bit(c);
    return claims;
  }
  int Count(int w, Cell state) const {
    int count = 0;
    for (const Cell cell : nodes_[Size(w)].cells) count += cell == state ? 1 : 0;
    return count;
  }
  void Change(int w, Cell from, Cell to) {
    for (Cell& cell : nodes_[Size(w)].cells) cell = cell == from ? to : cell;
  }
  bool IsActive(const One& one) const {
    const Node& node = nodes_[Size(one.w)];
    return node.active && node.number == one.number;
  }

  void FoldAndPublish(int w, std::function<void()> then) {
    Change(w, Cell::kReady, Cell::kFolded);
    After(costs_.publish_us, [this, w, then = std::move(then)] {
      Change(w, Cell::kFolded, Cell::kFree);
      then();
    });
  }

  void StartDue(int w) {
    Node& node = nodes_[Size(w)];
    if (!node.due || node.active || network_.now() < *node.due) return;
    node.due.reset();
    const int degree = static_cast<int>(neighbours_[Size(w)].size());
    for (int tries = 0; tries < 4 * degree; ++tries) {
      const int n = DrawNeighbour(w);
      if (node.lingering[Size(n)]) continue;
      node.active = true;
      node.start = network_.now();
      node.conflicts = 0;
      const One one{.w = w, .n = n, .with = neighbours_[Size(w)][Size(n)], .number = ++node.number};
      After(request_.peers.exchange_timeout_us, [this, one] { GiveUp(one); });
      return Read(one);
    }
    CountEnd(false);
    GoOn(w);
  }

  // A small message there, `at` at the partner, a small one back.
  void RoundTrip(const One& one, std::function<void()> at, std::function<void()> then) {
    network_.Send(one.w, one.with, kSmallBytes, [this, one, at = std::move(at), then = std::move(then)] {
      at();
      network_.Send(one.with, one.w, kSmallBytes, then);
    });
  }

  // A read that was given up is waited for, and no more.
  bool Abandoned(const One& one) {
    if (IsActive(one)) return false;
    nodes_[Size(one.w)].lingering[Size(one.n)] = false;
    return true;
  }

  // The header tells which cells of the partner's queue are taken, and with which deltas the model is to be read.
  void Read(One one) {
    struct Header {
      std::uint32_t claims = 0;
      int waiting = 0;
      bool being_written = false;
    };
    const auto header = std::make_shared<Header>();
    const auto look = [this, one, header] {
      *header = {.claims = Claims(one.with),
                 .waiting = Count(one.with, Cell::kReady) + Count(one.with, Cell::kFolded),
                 .being_written = Count(one.with, Cell::kClaimed) > 0};
    };
    RoundTrip(one, look, [this, one, header]() mutable {
      if (Abandoned(one)) return;
      if (header->being_written) return Conflict(one);
      one.claims = header->claims;
      network_.Send(one.w, one.with, kSmallBytes, [this, one, waiting = header->waiting] {
        network_.Send(one.with, one.w, read_bytes_ + delta_bytes_ * waiting, [this, one] {
          if (!Abandoned(one)) After(costs_.decode_us, [this, one] { TakeRead(one); });
        });
      });
    });
  }

  void TakeRead(One one) {
    if (Abandoned(one)) return;
    Change(one.w, Cell::kReady, Cell::kFolded);
    if (Count(one.w, Cell::kClaimed) > 0) return Conflict(one);
    for (int i = 0; i < kCells && one.cell < 0; ++i) {
      const int cell = (one.w + i) % kCells;
      if ((one.claims & Bit(cell)) == 0) one.cell = cell;
    }
    if (one.cell < 0) return End(one, neighbours_[Size(one.w)].size() > 1);
    After(costs_.encode_us, [this, one] { Append(one); });
  }

  // An append that was given up goes on to its end: its delta may count already.
  void Append(const One& one) {
    if (Abandoned(one)) return;
    const auto before = std::make_shared<std::uint32_t>(0);
    const auto claim = [this, one, before] {
      *before = Claims(one.with);
      if ((*before & Bit(one.cell)) == 0) CellOf(one) = Cell::kClaimed;
    };
    RoundTrip(one, claim, [this, one, before] {
      const bool ours = (*before & Bit(one.cell)) == 0;
      const bool disturbed = Count(one.w, Cell::kClaimed) + Count(one.w, Cell::kReady) > 0;
      if (!ours) return Conflict(one);
      if ((*before & ~one.claims) != 0 || disturbed) {
        return RoundTrip(
            one, [this, one] { CellOf(one) = Cell::kFree; }, [this, one] { Conflict(one); });
      }
      network_.Send(one.w, one.with, delta_bytes_, [this, one] {
        RoundTrip(
            one, [this, one] { BecomeReady(one); }, [this, one] { End(one, false); });
      });
    });
  }

  Cell& CellOf(const One& one) { return nodes_[Size(one.with)].cells[Size(one.cell)]; }

  void BecomeReady(const One& one) {
    CellOf(one) = Cell::kReady;
    if (Count(one.with, Cell::kReady) >= kFoldAt) FoldAndPublish(one.with, [] {});
  }

  // As long again as it has taken so far, give or take half.
  void Conflict(One one) {
    if (Abandoned(one)) return;
    Node& node = nodes_[Size(one.w)];
    if (++node.conflicts >= kConflicts) return End(one, true);
    one.cell = -1;
    node.rests = true;
    After((0.5 + DrawUnit()) * (network_.now() - node.start), [this, one] {
      if (!IsActive(one)) return;
      nodes_[Size(one.w)].rests = false;
      Read(one);
    });
  }

  void GiveUp(const One& one) {
    if (!IsActive(one)) return;
    Node& node = nodes_[Size(one.w)];
    node.lingering[Size(one.n)] = !node.rests;
    node.active = node.rests = false;
    CountEnd(false);
    FoldAndPublish(one.w, [this, w = one.w] { Settle(w); });
  }

  // In vain: another partner is tried.
  void End(const One& one, bool in_vain) {
    if (Abandoned(one)) return;
    Node& node = nodes_[Size(one.w)];
    node.active = false;
    const bool averaged = one.cell >= 0 && !in_vain;
    if (in_vain && !node.due && node.retries-- > 0) {
      node.due = network_.now();
    } else {
      CountEnd(averaged);
    }
    FoldAndPublish(one.w, [this, w = one.w] { Settle(w); });
  }

  void Settle(int w) {
    StartDue(w);
    const Node& node = nodes_[Size(w)];
    if (!node.due && !node.active) GoOn(w);
  }

  void GoOn(int w) {
    if (auto& waiting = nodes_[Size(w)].waiting) std::exchange(waiting, nullptr)();
  }

  const double delta_bytes_;
  const double read_bytes_;
  const SwarmCosts costs_;
  std::vector<Node> nodes_;
};

}  // namespace

std::unique_ptr<PairAveraging> MakeSwarmAveraging(const PairAveraging::Parts& parts) {
  return std::make_unique<SwarmAveraging>(parts);
}

}  // namespace weft
