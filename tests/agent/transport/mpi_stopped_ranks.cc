// mpi_stopped_ranks MECHANISM ("shared memory", "service", or "probe" for the one that is chosen between hosts), under
// mpirun with three ranks: rank 2 is stopped for two seconds while rank 0 works with its register and with rank 1's.
// Rank 0 prints "as expected", or what took too long; CTest looks for that line.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>

#include "agent/transport/mpi/mpi_transport.h"
#include "common/clock.h"
#include "common/mutex.h"

namespace weft {
namespace {

constexpr std::size_t kBytes = 1 << 20;
// The most that an operation with a rank that runs may take, on a busy machine.
constexpr Duration kPrompt = std::chrono::milliseconds(700);

TimePoint Now() { return Clock::Steady().Now(); }
TimePoint In(Duration duration) { return Now() + duration; }

[[noreturn]] void Fail(const std::string& what) {
  std::cout << "not as expected: " << what << std::endl;
  ExitWithoutFinalize(1);
}

void CheckOk(const Status& status) {
  if (!status.ok()) Fail(status.ToString());
}

void Meet(Transport& transport) {
  float one = 1;
  CheckOk(AllReduceAndWait(transport, std::span(&one, 1), transport.world_size(), In(std::chrono::seconds(30))));
}

void StopForTwoSeconds() {
  const std::string wake = "(sleep 2; kill -CONT " + std::to_string(getpid()) + ") &";
  if (std::system(wake.c_str()) != 0) Fail("no shell");
  kill(getpid(), SIGSTOP);
}

// Operations with `rank` until `end`; the longest one. Fails when one takes longer than kPrompt.
void Work(Registers& registers, int rank, TimePoint end) {
  int operations = 0;
  Duration longest{};
  while (Now() < end) {
    const TimePoint start = Now();
    CheckOk(GetAndWait(registers, rank, 0, std::make_shared<std::vector<std::byte>>(kBytes), start + kPrompt));
    CheckOk(PutAndWait(registers, rank, 64, std::make_shared<std::vector<std::byte>>(64), start + kPrompt));
    CheckOk(FetchAndWait(registers, rank, 0, FetchOperation::kAdd, 1, start + kPrompt).status());
    longest = std::max<Duration>(longest, Now() - start);
    ++operations;
  }
  std::cout << operations << " rounds with rank " << rank << ", the longest took " << ToSeconds(longest) * 1e3 << " ms"
            << std::endl;
}

int Main(const std::string& name) {
  auto created = MpiTransport::Create({}, In(std::chrono::seconds(30)));
  if (!created.ok()) Fail(created.status().ToString());
  MpiTransport& transport = **created;
  RegistersOptions options{.ranks = transport.world_size(), .bytes = kBytes};
  for (const RegisterMechanism mechanism : {RegisterMechanism::kSharedMemory, RegisterMechanism::kService}) {
    if (name == Name(mechanism)) options.mechanism = mechanism;
  }
  options.share_memory = name != "probe";
  auto made = transport.MakeRegisters(options, In(std::chrono::seconds(30)));
  if (!made.ok()) Fail(made.status().ToString());
  Registers& registers = **made;
  if (transport.rank() == 0) std::cout << Name(registers.mechanism()) << ": " << registers.reason() << std::endl;
  Meet(transport);

  const TimePoint begin = Now();
  if (transport.rank() == 2) StopForTwoSeconds();
  if (transport.rank() == 0) {
    Clock::Steady().SleepFor(std::chrono::milliseconds(200));
    // Only the service needs the other's thread: one-sided calls that do are not chosen.
    const bool reaches = registers.mechanism() != RegisterMechanism::kService;
    const auto word = FetchAndWait(registers, 2, 0, FetchOperation::kAdd, 1, In(std::chrono::milliseconds(200)));
    const Status read = GetAndWait(registers, 2, 0, std::make_shared<std::vector<std::byte>>(kBytes),
                                   In(std::chrono::milliseconds(200)));
    const StatusCode expected = reaches ? StatusCode::kOk : StatusCode::kDeadlineExceeded;
    if (read.code() != expected) Fail("reading the stopped rank: " + read.ToString());
    if (word.status().code() != expected) Fail("changing the stopped rank's word: " + word.status().ToString());
    Work(registers, 1, begin + std::chrono::milliseconds(1800));
    Clock::Steady().SleepFor(std::chrono::milliseconds(500));
    Work(registers, 2, In(std::chrono::milliseconds(100)));
  }
  Meet(transport);
  if (transport.rank() == 2) {
    // What was let go was carried out once.
    if (LoadWord(registers.local(), 0) == 0) Fail("nothing was changed");
  }
  CheckOk(transport.Shutdown(In(std::chrono::seconds(10))));
  if (transport.rank() == 0) std::cout << "as expected" << std::endl;
  return 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return weft::Main(argc > 1 ? argv[1] : ""); }
