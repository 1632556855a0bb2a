#include "agent/transport/all_reduce.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/check.h"

namespace weft {
namespace {

constexpr std::size_t kChunkFloats = (256 << 10) / sizeof(float);
// Chunks that are expected at a time.
constexpr std::int64_t kWindow = 8;

// Which part of the data each message carries. Message m is the chunk m mod `chunks` of step m / `chunks`.
class Schedule {
 public:
  Schedule(std::size_t floats, int ranks, int rank)
      : floats_(floats),
        ranks_(ranks),
        rank_(rank),
        chunks_(static_cast<std::int64_t>((floats / static_cast<std::size_t>(ranks) + kChunkFloats) / kChunkFloats)) {}

  std::int64_t chunks() const { return chunks_; }
  std::int64_t messages() const { return 2 * (ranks_ - 1) * chunks_; }
  bool adds(std::int64_t message) const { return message < (ranks_ - 1) * chunks_; }

  struct Range {
    std::size_t begin = 0;
    std::size_t count = 0;
  };
  Range Sent(std::int64_t message) const { return Chunk(rank_ - message / chunks_, message % chunks_); }
  Range Received(std::int64_t message) const { return Chunk(rank_ - message / chunks_ - 1, message % chunks_); }

 private:
  Range Chunk(std::int64_t segment, std::int64_t chunk) const {
    const auto ranks = static_cast<std::size_t>(ranks_);
    const std::size_t index = static_cast<std::size_t>(segment + 2 * ranks_) % ranks;
    // The first floats % ranks segments have one more.
    const std::size_t size = floats_ / ranks;
    const std::size_t longer = floats_ % ranks;
    const std::size_t begin = index * size + std::min(index, longer);
    const std::size_t end = begin + size + (index < longer ? 1 : 0);
    const std::size_t first = std::min(end, begin + static_cast<std::size_t>(chunk) * kChunkFloats);
    return {.begin = first, .count = std::min(kChunkFloats, end - first)};
  }

  const std::size_t floats_;
  const int ranks_;
  const int rank_;
  const std::int64_t chunks_;  // of the longest segment
};

}  // namespace

AllReduceTraffic AllReduceTrafficOf(std::size_t floats, int ranks, int rank) {
  AllReduceTraffic traffic;
  if (floats == 0 || ranks < 2) return traffic;
  const Schedule schedule(floats, ranks, rank);
  for (std::int64_t message = 0; message < schedule.messages(); ++message) {
    const std::size_t count = schedule.Sent(message).count;
    if (count == 0) continue;
    ++traffic.messages;
    traffic.bytes += static_cast<std::int64_t>(count * sizeof(float));
  }
  return traffic;
}

// One sum. Owned by the completions of its messages.
class RingAllReduce::Sum : public std::enable_shared_from_this<Sum> {
 public:
  Sum(Transport& transport, std::span<float> data, int ranks, Tag tag, Completion done)
      : transport_(transport),
        data_(data),
        next_((transport.rank() + 1) % ranks),
        previous_((transport.rank() + ranks - 1) % ranks),
        tag_(tag),
        schedule_(data.size(), ranks, transport.rank()),
        window_(std::min(kWindow, schedule_.messages())),
        chunk_floats_(std::min(kChunkFloats, data.size())),
        scratch_(std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(window_) * chunk_floats_)),
        here_(static_cast<std::size_t>(window_), false),
        done_(std::move(done)) {}

  void Start() {
    for (std::int64_t message = 0; message < window_; ++message) PostReceive(message);
    for (std::int64_t message = 0; message < schedule_.chunks(); ++message) PostSend(message);
    {
      const MutexLock lock(mutex_);
      driving_ = false;
    }
    Drive();
  }

 private:
  enum class Action { kUse, kGiveUp, kEnd, kRest };

  std::size_t Slot(std::int64_t message) const { return static_cast<std::size_t>(message % window_); }
  std::span<float> SlotData(std::int64_t message) {
    return {scratch_.get() + Slot(message) * chunk_floats_, schedule_.Received(message).count};
  }

  void PostReceive(std::int64_t message) {
    if (schedule_.Received(message).count == 0) return Received(message, OkStatus());
    transport_.Receive(previous_, tag_, std::as_writable_bytes(SlotData(message)),
                       [self = shared_from_this(), message](const Status& status) { self->Received(message, status); });
  }

  void Received(std::int64_t message, const Status& status) {
    {
      const MutexLock lock(mutex_);
      here_[Slot(message)] = status.ok();
      if (error_.ok() && status.code() == StatusCode::kDataLoss) {
        error_ = UnavailableError("rank " + std::to_string(previous_) + " gave up a sum");
      } else if (error_.ok()) {
        error_ = status;
      }
    }
    Drive();
  }

  void PostSend(std::int64_t message) {
    const Schedule::Range range = schedule_.Sent(message);
    if (range.count == 0) return;
    {
      const MutexLock lock(mutex_);
      ++sending_;
    }
    transport_.Send(next_, tag_, std::as_bytes(data_.subspan(range.begin, range.count)),
                    [self = shared_from_this()](const Status& status) {
                      {
                        const MutexLock lock(self->mutex_);
                        --self->sending_;
                        if (self->error_.ok()) self->error_ = status;
                      }
                      self->Drive();
                    });
  }

  // Uses what has come, in order. One thread at a time does, without the lock: whoever comes meanwhile leaves its news
  // to that one, which looks again before it rests.
  void Drive() WEFT_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      if (driving_) return;
      driving_ = true;
    }
    while (true) {
      switch (NextAction()) {
        case Action::kUse:
          Use();
          break;
        case Action::kGiveUp:
          // No chunk is empty: the next rank finds a message of another size.
          transport_.Send(next_, tag_, {}, [](const Status&) {});
          break;
        case Action::kEnd:
          std::exchange(done_, nullptr)(Result());
          break;
        case Action::kRest:
          return;
      }
    }
  }

  Action NextAction() WEFT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (!error_.ok() && error_.code() != StatusCode::kCancelled && !gave_up_) {
      gave_up_ = true;
      return Action::kGiveUp;
    }
    const bool finished = !error_.ok() || used_ == schedule_.messages();
    if (finished && sending_ == 0 && !ended_) {
      ended_ = true;
      return Action::kEnd;
    }
    if (!finished && here_[Slot(used_)]) {
      here_[Slot(used_)] = false;
      return Action::kUse;
    }
    driving_ = false;
    return Action::kRest;
  }

  // Adds or stores the next chunk, and passes it on. used_ is the driving thread's own but for reads.
  void Use() WEFT_EXCLUDES(mutex_) {
    std::int64_t message = 0;
    {
      const MutexLock lock(mutex_);
      message = used_;
    }
    const std::span<const float> chunk = SlotData(message);
    float* const target = data_.data() + schedule_.Received(message).begin;
    if (schedule_.adds(message)) {
      for (std::size_t i = 0; i < chunk.size(); ++i) target[i] += chunk[i];
    } else {
      std::copy(chunk.begin(), chunk.end(), target);
    }
    {
      const MutexLock lock(mutex_);
      ++used_;
    }
    if (message + schedule_.chunks() < schedule_.messages()) PostSend(message + schedule_.chunks());
    if (message + window_ < schedule_.messages()) PostReceive(message + window_);
  }

  Status Result() WEFT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return error_;
  }

  Transport& transport_;
  const std::span<float> data_;
  const int next_;
  const int previous_;
  const Tag tag_;
  const Schedule schedule_;
  const std::int64_t window_;
  const std::size_t chunk_floats_;
  const std::unique_ptr<float[]> scratch_;  // window_ slots of chunk_floats_

  Mutex mutex_;
  std::vector<bool> here_ WEFT_GUARDED_BY(mutex_);  // by slot: its chunk has come and is not used yet
  std::int64_t used_ WEFT_GUARDED_BY(mutex_) = 0;   // messages, in order
  int sending_ WEFT_GUARDED_BY(mutex_) = 0;
  bool driving_ WEFT_GUARDED_BY(mutex_) = true;  // until Start has posted the first messages
  bool gave_up_ WEFT_GUARDED_BY(mutex_) = false;
  bool ended_ WEFT_GUARDED_BY(mutex_) = false;
  Status error_ WEFT_GUARDED_BY(mutex_);
  Completion done_;  // the driving thread's
};

void RingAllReduce::Start(std::span<float> data, int ranks, Completion done) {
  WEFT_CHECK(ranks >= 2 && ranks <= transport_.world_size() && transport_.rank() < ranks) << ranks << " ranks";
  WEFT_CHECK(!data.empty());
  std::int64_t number = 0;
  {
    const MutexLock lock(mutex_);
    number = started_[ranks]++;
  }
  // Sums over other numbers of ranks have other rounds: their ranks have not started equally many.
  const Tag tag(MessageKind::kReduce, static_cast<int>(number % (Tag::kMaxChannel + 1)), ranks);
  std::make_shared<Sum>(transport_, data, ranks, tag, std::move(done))->Start();
}

}  // namespace weft
