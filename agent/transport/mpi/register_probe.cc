#include "agent/transport/mpi/register_probe.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "agent/transport/mpi/window.h"
#include "agent/transport/register_service.h"
#include "agent/transport/register_tags.h"
#include "agent/transport/rendezvous.h"
#include "common/mutex.h"

namespace weft {
namespace {

constexpr std::size_t kBytes = 256 << 10;  // that a Get of the probe reads
constexpr std::size_t kCounter = kBytes;   // the offset of the word that it changes
constexpr std::uint64_t kPattern = 0x5eed000000000001;
// The targets' threads make no call for so long. The others begin when they do, give or take kSkew, and end before.
constexpr Duration kHeld = std::chrono::milliseconds(50);
constexpr Duration kMeasured = std::chrono::milliseconds(45);
// A call or an operation that takes longer has waited for the target.
constexpr Duration kWaited = std::chrono::milliseconds(15);
// For an operation to end when its target makes calls again.
constexpr Duration kPatience = std::chrono::seconds(2);
constexpr int kTimedGets = 5;
constexpr int kTimedFetches = 10;

TimePoint Now() { return Clock::Steady().Now(); }

// What a rank found, in a message of fixed size.
struct Finding {
  bool measured = false;    // it was not a target
  Duration longest_call{};  // while the target was held
  Duration longest_wait{};  // of an operation, likewise
  double one_sided_us = 0;  // for one Get and one Fetch
  double service_us = 0;    // likewise
  char error[160] = {};     // ends with a zero; empty: none

  void SetError(const Status& status) { std::snprintf(error, sizeof(error), "%s", status.message().c_str()); }
};

Result<std::vector<Finding>> Share(Transport& transport, int ranks, int instance, const Finding& mine,
                                   TimePoint deadline) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<std::vector<std::byte>> all,
                        ExchangeWithAll(transport, ranks, RegisterTag(instance, RegisterChannel::kAgreement, 0),
                                        std::as_bytes(std::span(&mine, 1)), deadline, "the choice of registers"));
  std::vector<Finding> findings(all.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::memcpy(static_cast<void*>(&findings[rank]), all[rank].data(), sizeof(Finding));
  }
  return findings;
}

// Operations whose ends are counted on the progress thread and waited for on another.
struct Count {
  Mutex mutex;
  CondVar changed;
  int pending WEFT_GUARDED_BY(mutex) = 0;
  Status error WEFT_GUARDED_BY(mutex);

  void Begin() {
    const MutexLock lock(mutex);
    ++pending;
  }
  void End(const Status& status) {
    const MutexLock lock(mutex);
    --pending;
    if (error.ok()) error = status;
    changed.NotifyAll();
  }
  bool Pending() {
    const MutexLock lock(mutex);
    return pending > 0;
  }
  Status Wait(TimePoint deadline) {
    const MutexLock lock(mutex);
    while (pending > 0) {
      if (Now() >= deadline) return DeadlineExceededError("a one-sided operation did not end");
      changed.WaitUntil(mutex, deadline);
    }
    return error;
  }
};

// On the progress thread: pairs of operations with a target that makes no call, until `end` or as long as they end.
// The number of Fetches.
std::uint64_t MeasureHeld(MpiProgress& progress, MpiWindow& window, int target, TimePoint end,
                          const std::shared_ptr<Count>& count, Finding& finding) {
  std::uint64_t fetches = 0;
  const auto longest = [](Duration& so_far, TimePoint start) { so_far = std::max<Duration>(so_far, Now() - start); };
  while (Now() < end && !count->Pending()) {
    const TimePoint start = Now();
    count->Begin();
    window.Get(target, 0, std::make_shared<std::vector<std::byte>>(kBytes),
               [count](const Status& status) { count->End(status); });
    longest(finding.longest_call, start);
    const TimePoint second = Now();
    count->Begin();
    window.Fetch(target, kCounter, FetchOperation::kAdd, 1, [count](const Result<std::uint64_t>& before) {
      count->End(before.ok() ? OkStatus() : before.status());
    });
    ++fetches;
    longest(finding.longest_call, second);
    while (count->Pending() && Now() < end) {
      const TimePoint look = Now();
      progress.Test();
      longest(finding.longest_call, look);
      sched_yield();
    }
    longest(finding.longest_wait, start);
  }
  return fetches;
}

// Microseconds for a Get and a Fetch, the median of each; the Fetches are counted.
Result<double> Time(Registers& registers, int target, std::uint64_t& fetches) {
  std::vector<double> gets;
  std::vector<double> changes;
  const auto into = std::make_shared<std::vector<std::byte>>(kBytes);
  for (int i = 0; i < kTimedGets; ++i) {
    const TimePoint start = Now();
    WEFT_RETURN_IF_ERROR(GetAndWait(registers, target, 0, into, start + kPatience));
    gets.push_back(ToSeconds(Now() - start) * 1e6);
    std::uint64_t last = 0;
    std::memcpy(&last, into->data() + kBytes - sizeof(last), sizeof(last));
    if (last != kPattern) return DataLossError("a register was read wrongly");
  }
  for (int i = 0; i < kTimedFetches; ++i) {
    const TimePoint start = Now();
    WEFT_ASSIGN_OR_RETURN(const std::uint64_t before,
                          FetchAndWait(registers, target, kCounter, FetchOperation::kAdd, 1, start + kPatience));
    changes.push_back(ToSeconds(Now() - start) * 1e6);
    if (before != fetches) return DataLossError("a register's word was changed wrongly");
    ++fetches;
  }
  std::sort(gets.begin(), gets.end());
  std::sort(changes.begin(), changes.end());
  return gets[gets.size() / 2] + changes[changes.size() / 2];
}

std::string Text(const char* format, auto... values) {
  char text[256];
  std::snprintf(text, sizeof(text), format, values...);
  return text;
}

double Milliseconds(Duration duration) { return ToSeconds(duration) * 1e3; }

// From all ranks' findings, so that all choose alike.
RegisterChoice Choose(const std::vector<Finding>& findings) {
  Finding worst;
  for (std::size_t rank = 0; rank < findings.size(); ++rank) {
    const Finding& finding = findings[rank];
    if (finding.error[0] != '\0') {
      return {RegisterMechanism::kService, Text("one-sided calls fail: rank %zu: %s", rank, finding.error)};
    }
    worst.longest_call = std::max(worst.longest_call, finding.longest_call);
    worst.longest_wait = std::max(worst.longest_wait, finding.longest_wait);
    worst.one_sided_us = std::max(worst.one_sided_us, finding.one_sided_us);
    worst.service_us = std::max(worst.service_us, finding.service_us);
  }
  if (worst.longest_wait < kWaited) {
    return {RegisterMechanism::kOneSided,
            Text("one-sided calls end, after %.2f ms at most, while the target makes none",
                 Milliseconds(worst.longest_wait))};
  }
  if (worst.longest_call >= kWaited) {
    return {RegisterMechanism::kService, Text("a one-sided call does not return while its target makes none (%.0f ms)",
                                              Milliseconds(worst.longest_call))};
  }
  // The service holds up nobody when a rank stands still; one-sided calls are worth that risk when they are much
  // faster.
  const bool faster = 2 * worst.one_sided_us <= worst.service_us;
  return {
      faster ? RegisterMechanism::kOneSidedWithProgressThread : RegisterMechanism::kService,
      Text("one-sided calls wait for their target, whose thread %s them twice as fast as requests (%.0f to %.0f us)",
           faster ? "makes" : "does not make", worst.one_sided_us, worst.service_us)};
}

}  // namespace

Result<std::shared_ptr<MpiWindow>> MakeWindow(Transport& transport, const std::shared_ptr<MpiProgress>& progress,
                                              int ranks, std::size_t bytes, int instance, TimePoint deadline) {
  // The thread may be in the call when this function has given up.
  const auto made = std::make_shared<std::shared_ptr<MpiWindow>>();
  const Status created = progress->RunOnThread(
      [made, progress, ranks, bytes] {
        auto window = MpiWindow::Create(*progress, ranks, bytes);
        if (!window.ok()) return window.status();
        *made = std::move(window).value();
        progress->BeforeFinalize([window = *made] { window->Free(); });
        return OkStatus();
      },
      deadline, "the making of a window");
  if (created.code() == StatusCode::kDeadlineExceeded) return created;
  Finding mine;
  if (!created.ok()) mine.SetError(created);
  WEFT_ASSIGN_OR_RETURN(const std::vector<Finding> findings, Share(transport, ranks, instance, mine, deadline));
  for (std::size_t rank = 0; rank < findings.size(); ++rank) {
    if (findings[rank].error[0] != '\0') {
      return UnimplementedError("rank " + std::to_string(rank) + ": " + findings[rank].error);
    }
  }
  return *made;
}

Result<RegisterChoice> ProbeRegisters(Transport& transport, const std::shared_ptr<MpiProgress>& progress, int ranks,
                                      int instance, TimePoint deadline) {
  auto made = MakeWindow(transport, progress, ranks, kBytes + sizeof(std::uint64_t), instance, deadline);
  if (!made.ok()) {
    if (made.status().code() != StatusCode::kUnimplemented) return made.status();
    return RegisterChoice{RegisterMechanism::kService, "one-sided calls fail: " + made.status().message()};
  }
  const std::shared_ptr<MpiWindow> window = made.value();
  RegisterService service(transport, {.ranks = ranks, .bytes = kBytes + sizeof(std::uint64_t), .mechanism = {}},
                          instance, "measured");
  for (const std::span<std::byte> memory : {service.local(), window->local()}) {
    StoreWord(memory, kBytes - sizeof(std::uint64_t), kPattern);
  }

  const int rank = transport.rank();
  const bool measures = rank % 2 == 0 && rank + 1 < ranks;
  const bool is_target = rank % 2 == 1;
  const auto finding = std::make_shared<Finding>();
  WEFT_RETURN_IF_ERROR(Share(transport, ranks, instance, *finding, deadline).status());
  const auto count = std::make_shared<Count>();
  const auto fetches = std::make_shared<std::uint64_t>(0);
  const TimePoint start = Now();
  if (is_target) {
    WEFT_RETURN_IF_ERROR(progress->RunOnThread(
        [] {
          Clock::Steady().SleepFor(kHeld);
          return OkStatus();
        },
        deadline, "the probe"));
  } else if (measures) {
    WEFT_RETURN_IF_ERROR(progress->RunOnThread(
        [progress, window, rank, start, count, finding, fetches] {
          *fetches = MeasureHeld(*progress, *window, rank + 1, start + kMeasured, count, *finding);
          return OkStatus();
        },
        deadline, "the probe"));
  }
  if (measures) {
    finding->measured = true;
    Status failed = count->Wait(Now() + kPatience);
    if (failed.ok()) {
      WindowRegisters one_sided(progress, window, RegisterMechanism::kOneSided, "measured");
      auto time = Time(one_sided, rank + 1, *fetches);
      failed = time.status();
      if (time.ok()) finding->one_sided_us = *time;
    }
    std::uint64_t served = 0;
    WEFT_ASSIGN_OR_RETURN(finding->service_us, Time(service, rank + 1, served));
    if (!failed.ok()) finding->SetError(failed);
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<Finding> findings, Share(transport, ranks, instance, *finding, deadline));
  return Choose(findings);
}

}  // namespace weft
