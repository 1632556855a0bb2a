// reduce_benchmark [RANKS [NETWORK]]: sums over ranks from 4 KiB to 64 MiB, by our ring and by Open MPI's own, beside a
// memcpy; and registers, by each mechanism: a Get of 1 MB, a Put of 1 MB and a Fetch, one at a time. NETWORK is "vader"
// (shared memory), "tcp" or "ucx". Starts mpirun itself.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "agent/transport/mpi/mpi_transport.h"
#include "common/clock.h"
#include "tests/agent/transport/bare_all_reduce.h"

namespace weft {
namespace {

constexpr int kRepeats = 3;
constexpr std::size_t kRegisterBytes = 1'000'000;
constexpr int kRegisterRounds = 200;

TimePoint Now() { return Clock::Steady().Now(); }
TimePoint Deadline() { return Now() + std::chrono::seconds(60); }

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void CheckOk(const Status& status) {
  if (status.ok()) return;
  std::cerr << status << "\n";
  ExitWithoutFinalize(1);
}

// The median seconds of `run`.
template <typename Run>
double MedianSeconds(int rounds, const Run& run) {
  std::vector<double> seconds;
  for (int i = 0; i < rounds; ++i) {
    const TimePoint start = Now();
    run();
    seconds.push_back(ToSeconds(Now() - start));
  }
  return Median(seconds);
}

std::vector<double> TimeSums(Transport& transport) {
  std::vector<double> medians;
  for (const std::size_t floats : kReduceSizes) {
    std::vector<float> data(floats, 1.0F);
    medians.push_back(MedianSeconds(ReduceRounds(floats), [&] {
      std::fill(data.begin(), data.end(), 1.0F);
      CheckOk(AllReduceAndWait(transport, data, transport.world_size(), Deadline()));
      if (data.back() != static_cast<float>(transport.world_size())) CheckOk(InternalError("a wrong sum"));
    }));
  }
  return medians;
}

// A Get, a Put and a Fetch with the next rank; the others' threads do what the mechanism needs.
std::vector<double> TimeRegisters(Transport& transport, RegisterMechanism mechanism) {
  auto made = transport.MakeRegisters(
      {.ranks = transport.world_size(), .bytes = kRegisterBytes + 64, .mechanism = mechanism}, Deadline());
  CheckOk(made.status());
  Registers& registers = **made;
  std::vector<double> medians;
  if (transport.rank() == 0) {
    const auto bytes = std::make_shared<std::vector<std::byte>>(kRegisterBytes);
    medians.push_back(
        MedianSeconds(kRegisterRounds, [&] { CheckOk(GetAndWait(registers, 1, 64, bytes, Deadline())); }));
    medians.push_back(
        MedianSeconds(kRegisterRounds, [&] { CheckOk(PutAndWait(registers, 1, 64, bytes, Deadline())); }));
    medians.push_back(MedianSeconds(kRegisterRounds, [&] {
      CheckOk(FetchAndWait(registers, 1, 0, FetchOperation::kAdd, 1, Deadline()).status());
    }));
  }
  float one = 1;
  CheckOk(AllReduceAndWait(transport, std::span(&one, 1), transport.world_size(), Deadline()));
  return medians;
}

// A rank under mpirun prints its medians, one a line, on rank 0.
int RunRank(const std::string& mode) {
  std::vector<double> medians;
  if (mode == "blocking" || mode == "tested") {
    medians = BareAllReduce(mode == "blocking");
  } else {
    auto transport = MpiTransport::Create({}, Deadline());
    CheckOk(transport.status());
    if (mode == "ring") medians = TimeSums(**transport);
    for (const RegisterMechanism mechanism :
         {RegisterMechanism::kSharedMemory, RegisterMechanism::kOneSided, RegisterMechanism::kService}) {
      if (mode == Name(mechanism)) medians = TimeRegisters(**transport, mechanism);
    }
    if ((*transport)->rank() != 0) medians.clear();
    CheckOk((*transport)->Shutdown(Deadline()));
  }
  for (const double seconds : medians) std::printf("%.9f\n", seconds);
  return 0;
}

std::vector<double> RunRanks(const std::string& self, const std::string& ranks, const std::string& network,
                             const std::string& mode) {
  const std::string components =
      network == "ucx"   ? "--mca pml ucx --mca osc ucx --mca pml_ucx_tls any --mca pml_ucx_devices any"
      : network == "tcp" ? "--mca pml ob1 --mca btl self,tcp --mca btl_tcp_if_include lo --mca osc pt2pt"
                         : "--mca pml ob1 --mca btl vader,self --mca btl_vader_single_copy_mechanism none";
  const std::string command = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -np " + ranks +
                              " --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 " + components + " " + self +
                              " --rank '" + mode + "'";
  std::FILE* pipe = popen(command.c_str(), "r");
  std::vector<double> values;
  double value = 0;
  while (pipe != nullptr && std::fscanf(pipe, "%lf", &value) == 1) values.push_back(value);
  if (pipe == nullptr || pclose(pipe) != 0) {
    std::cerr << "failed: " << command << "\n";
    return {};
  }
  return values;
}

double MemcpySeconds(std::size_t bytes) {
  std::vector<std::byte> from(bytes, std::byte{1});
  std::vector<std::byte> to(bytes);
  return MedianSeconds(21, [&] {
    std::memcpy(to.data(), from.data(), bytes);
    from[0] = to[bytes - 1];
  });
}

void CompareSums(const std::string& self, const std::string& ranks, const std::string& network) {
  const std::vector<std::string> modes = {"ring", "tested", "blocking"};
  std::vector<std::vector<std::vector<double>>> seconds(modes.size());  // by mode, size
  for (auto& sizes : seconds) sizes.resize(kReduceSizes.size());
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    for (std::size_t mode = 0; mode < modes.size(); ++mode) {
      const std::vector<double> run = RunRanks(self, ranks, network, modes[mode]);
      for (std::size_t size = 0; size < kReduceSizes.size(); ++size) seconds[mode][size].push_back(run.at(size));
    }
  }
  std::printf("sums over %s ranks, %s, median of %d runs\n%10s %10s %13s %12s %9s %10s\n", ranks.c_str(),
              network.c_str(), kRepeats, "bytes", "ring_us", "iallreduce_us", "allreduce_us", "ratio", "of memcpy");
  for (std::size_t size = 0; size < kReduceSizes.size(); ++size) {
    const double ring = Median(seconds[0][size]);
    const double tested = Median(seconds[1][size]);
    const double blocking = Median(seconds[2][size]);
    std::printf("%10zu %10.1f %13.1f %12.1f %9.2f %10.3f\n", kReduceSizes[size] * 4, ring * 1e6, tested * 1e6,
                blocking * 1e6, ring / blocking, MemcpySeconds(kReduceSizes[size] * 4) / ring);
  }
}

void CompareRegisters(const std::string& self, const std::string& ranks, const std::string& network) {
  const double copy = MemcpySeconds(kRegisterBytes);
  std::printf("registers, %s ranks, %s: medians; memcpy of 1 MB: %.1f us\n%-16s %10s %10s %10s %10s\n", ranks.c_str(),
              network.c_str(), copy * 1e6, "mechanism", "get_us", "of memcpy", "put_us", "fetch_us");
  for (const RegisterMechanism mechanism :
       {RegisterMechanism::kSharedMemory, RegisterMechanism::kOneSided, RegisterMechanism::kService}) {
    const std::vector<double> times = RunRanks(self, ranks, network, Name(mechanism));
    if (times.size() != 3) continue;
    std::printf("%-16s %10.1f %10.3f %10.1f %10.2f\n", Name(mechanism), times[0] * 1e6, copy / times[0], times[1] * 1e6,
                times[2] * 1e6);
  }
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "2";
  const std::string second = argc > 2 ? argv[2] : "vader";
  if (first == "--rank") return weft::RunRank(second);
  weft::CompareSums(argv[0], first, second);
  weft::CompareRegisters(argv[0], first, second);
  return 0;
}
