#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "coordinator/planner/pair_averaging.h"
#include "coordinator/planner/processor.h"

namespace weft {
namespace {

constexpr double kHeaderBytes = 4;
// As the plane's: a partner with whom an earlier averaging is still open is drawn again so often.
constexpr int kDraws = 64;

class AdpsgdAveraging : public PairAveraging {
 public:
  explicit AdpsgdAveraging(const Parts& parts)
      : PairAveraging(parts),
        bytes_(static_cast<double>(plan_.groups[0].bytes)),
        pass_us_(kPassUsPerByte * bytes_),
        workers_(neighbours_.size()) {
    for (std::size_t w = 0; w < workers_.size(); ++w) workers_[w].open.assign(neighbours_[w].size(), false);
  }

  void Begin(int w) override {
    Worker& worker = workers_[Size(w)];
    const int n = DrawFree(w);
    if (n < 0) return CountEnd(false);
    const int with = neighbours_[Size(w)][Size(n)];
    const std::int64_t number = ++worker.begun;
    worker.open[Size(n)] = true;
    worker.under_way = true;
    After(request_.peers.exchange_timeout_us, [this, w, number] { GiveUp(w, number); });
    network_.Send(w, with, kHeaderBytes, [this, w, with, n, number] {
      After(kReadModelPasses * pass_us_, [this, w, with, n, number] {
        network_.Send(w, with, bytes_, [this, w, with, n, number] {
          After(kAveragePasses * pass_us_, [this, w, with, n, number] {
            network_.Send(with, w, bytes_, [this, w, n, number] {
              After(kApplyReplyPasses * pass_us_, [this, w, n, number] { End(w, n, number); });
            });
          });
        });
      });
    });
  }

  void Await(int w, std::function<void()> then) override {
    Worker& worker = workers_[Size(w)];
    if (!worker.under_way) return then();
    worker.waiting = std::move(then);
  }

 private:
  struct Worker {
    std::int64_t begun = 0;
    bool under_way = false;  // the one begun last has neither ended nor passed its time-out
    std::vector<bool> open;  // by neighbour
    std::function<void()> waiting;
  };

  int DrawFree(int w) {
    for (int draw = 0; draw < kDraws; ++draw) {
      const int n = DrawNeighbour(w);
      if (!workers_[Size(w)].open[Size(n)]) return n;
    }
    return -1;
  }

  // One that was given up goes on to its end.
  void End(int w, int n, std::int64_t number) {
    workers_[Size(w)].open[Size(n)] = false;
    Settle(w, number, true);
  }
  void GiveUp(int w, std::int64_t number) { Settle(w, number, false); }

  void Settle(int w, std::int64_t number, bool averaged) {
    Worker& worker = workers_[Size(w)];
    if (!worker.under_way || worker.begun != number) return;
    worker.under_way = false;
    CountEnd(averaged);
    if (worker.waiting) std::exchange(worker.waiting, nullptr)();
  }

  const double bytes_;
  const double pass_us_;
  std::vector<Worker> workers_;
};

}  // namespace

std::unique_ptr<PairAveraging> MakeAdpsgdAveraging(const PairAveraging::Parts& parts) {
  return std::make_unique<AdpsgdAveraging>(parts);
}

}  // namespace weft
