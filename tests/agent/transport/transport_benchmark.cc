// transport_benchmark [BTL [PART_BYTES]]: ping-pongs between two ranks, 8 B to 16 MiB, over Open MPI's BTL
// ("vader,self"), by the progress thread and by bare MPI, beside a memcpy; what an idle rank takes of a processor; and
// how well the loopback keeps to its links' rate. Starts mpirun itself, alternating between the two so that both meet
// the same machine.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "agent/transport/loopback.h"
#include "agent/transport/mpi/mpi_transport.h"
#include "agent/transport/outcome.h"
#include "common/clock.h"
#include "tests/agent/transport/ping_pong.h"

namespace weft {
namespace {

constexpr int kRepeats = 3;

TimePoint Now() { return Clock::Steady().Now(); }
TimePoint Deadline() { return Now() + std::chrono::seconds(60); }
Tag BallTag() { return Tag(MessageKind::kProbe, 0, 0); }

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void CheckOk(const Status& status) {
  if (status.ok()) return;
  std::cerr << status << "\n";
  ExitWithoutFinalize(1);
}

// One rank's side; rounds follow each other in the completions, as in the data plane. Round-trip times where `serves`.
class PingPong {
 public:
  PingPong(Transport& transport, std::size_t bytes, int rounds)
      : transport_(transport), serves_(transport.rank() == 0), rounds_(rounds), in_(bytes), out_(bytes) {}

  std::vector<double> Run() {
    if (serves_) {
      Serve();
    } else {
      Return();
    }
    CheckOk(outcome_.Await(transport_, Deadline(), "the ping-pong"));
    return round_trips_;
  }

 private:
  void Serve() {
    const TimePoint start = Now();
    pending_ = 2;
    transport_.Receive(1, BallTag(), in_, [this, start](const Status& status) {
      round_trips_.push_back(ToSeconds(Now() - start));
      EndOne(status);
    });
    transport_.Send(1, BallTag(), out_, [this](const Status& status) { EndOne(status); });
  }
  void EndOne(const Status& status) {
    CheckOk(status);
    if (--pending_ > 0) return;
    if (--rounds_ == 0) return outcome_.Set(OkStatus());
    Serve();
  }
  void Return() {
    transport_.Receive(0, BallTag(), in_, [this](const Status& received) {
      CheckOk(received);
      transport_.Send(0, BallTag(), in_, [this](const Status& sent) {
        CheckOk(sent);
        if (--rounds_ == 0) return outcome_.Set(OkStatus());
        Return();
      });
    });
  }

  Transport& transport_;
  const bool serves_;
  int rounds_;
  int pending_ = 0;
  std::vector<std::byte> in_;
  std::vector<std::byte> out_;
  std::vector<double> round_trips_;
  Outcome outcome_;
};

double ProcessorSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The share of a processor that this process takes with receives posted and nothing coming.
double IdleShare(Transport& transport) {
  std::vector<std::byte> buffer(64);
  std::vector<Outcome> ends(16);
  const int peer = 1 - transport.rank();
  for (int i = 0; i < 16; ++i) {
    transport.Receive(peer, Tag(MessageKind::kControl, i, 0), std::span(buffer).subspan(static_cast<std::size_t>(i), 1),
                      [&ends, i](const Status& status) { ends[static_cast<std::size_t>(i)].Set(status); });
  }
  const double before = ProcessorSeconds();
  const TimePoint start = Now();
  Clock::Steady().SleepFor(std::chrono::seconds(2));
  const double share = (ProcessorSeconds() - before) / ToSeconds(Now() - start);
  const std::byte one{1};
  for (int i = 0; i < 16; ++i) {
    CheckOk(SendAndWait(transport, peer, Tag(MessageKind::kControl, i, 0), std::span(&one, 1), Deadline()));
  }
  for (Outcome& end : ends) CheckOk(end.Await(transport, Deadline(), "the last receives"));
  return share;
}

// A rank under mpirun: the medians, one a line, on rank 0's standard output; the last line is the idle share.
int RunRank(bool bare, std::size_t part_bytes) {
  if (bare) {
    for (const double seconds : BarePingPong()) std::printf("%.9f\n", seconds);
    return 0;
  }
  auto transport = MpiTransport::Create({.part_bytes = part_bytes}, Deadline());
  CheckOk(transport.status());
  std::vector<double> medians;
  for (std::size_t bytes = kPingPongSmallest; bytes <= kPingPongLargest; bytes *= kPingPongGrowth) {
    const std::vector<double> round_trips = PingPong(**transport, bytes, PingPongRounds(bytes)).Run();
    if (!round_trips.empty()) medians.push_back(Median(round_trips) / 2);
  }
  const double idle = IdleShare(**transport);
  if ((*transport)->rank() == 0) {
    for (const double seconds : medians) std::printf("%.9f\n", seconds);
    std::printf("%.9f\n", idle);
  }
  CheckOk((*transport)->Shutdown(Deadline()));
  return 0;
}

std::vector<double> RunRanks(const std::string& self, const std::string& btl, const std::string& mode) {
  const std::string command =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -np 2 --oversubscribe --bind-to none --mca pml "
      "ob1 "
      "--mca btl_tcp_if_include lo --mca btl_vader_single_copy_mechanism none --mca btl " +
      btl + " " + self + " " + mode;
  std::FILE* pipe = popen(command.c_str(), "r");
  std::vector<double> values;
  double value = 0;
  while (pipe != nullptr && std::fscanf(pipe, "%lf", &value) == 1) values.push_back(value);
  if (pipe == nullptr || pclose(pipe) != 0) {
    std::cerr << "failed: " << command << "\n";
    std::exit(1);
  }
  return values;
}

double MemcpySeconds(std::size_t bytes) {
  std::vector<std::byte> from(bytes, std::byte{1});
  std::vector<std::byte> to(bytes);
  std::vector<double> seconds;
  for (int i = 0; i < 21; ++i) {
    const TimePoint start = Now();
    std::memcpy(to.data(), from.data(), bytes);
    seconds.push_back(ToSeconds(Now() - start));
    from[0] = to[bytes - 1];
  }
  return Median(seconds);
}

void CompareWithBareMpi(const std::string& self, const std::string& btl, const std::string& part_bytes) {
  std::vector<std::vector<double>> bare(kRepeats);
  std::vector<std::vector<double>> ours(kRepeats);
  for (std::size_t i = 0; i < kRepeats; ++i) {
    bare[i] = RunRanks(self, btl, "--rank-bare");
    ours[i] = RunRanks(self, btl, "--rank " + part_bytes);
  }
  std::printf("Open MPI ob1/%s, one way, median of %d runs\n", btl.c_str(), kRepeats);
  std::printf("%10s %12s %12s %8s %12s %10s\n", "bytes", "weft_us", "bare_us", "ratio", "weft_MB/s", "of memcpy");
  std::size_t row = 0;
  for (std::size_t bytes = kPingPongSmallest; bytes <= kPingPongLargest; bytes *= kPingPongGrowth, ++row) {
    std::vector<double> ours_row;
    std::vector<double> bare_row;
    for (std::size_t i = 0; i < kRepeats; ++i) {
      ours_row.push_back(ours[i].at(row));
      bare_row.push_back(bare[i].at(row));
    }
    const double weft = Median(ours_row);
    const double mpi = Median(bare_row);
    const double size = static_cast<double>(bytes);
    std::printf("%10zu %12.2f %12.2f %8.2f %12.1f %10.3f\n", bytes, weft * 1e6, mpi * 1e6, weft / mpi,
                size / weft * 1e-6, MemcpySeconds(bytes) / weft);
  }
  std::vector<double> idle;
  for (const std::vector<double>& run : ours) idle.push_back(run.at(row));
  std::printf("an idle rank with 16 receives posted takes %.2f %% of a processor\n\n", Median(idle) * 100);
}

// One transfer at a time over a link of 1 Gb/s: how much longer than bytes / rate it takes.
void MeasureLoopback() {
  constexpr double kRate = 125e6;
  LoopbackNetwork network(2, {.links = {{.egress_bytes_per_second = kRate, .ingress_bytes_per_second = kRate}}});
  std::printf("loopback at 1 Gb/s, one way\n%10s %12s %12s %12s %10s\n", "bytes", "ideal_us", "median_us", "worst_us",
              "error");
  for (const std::size_t bytes : {8UL, 10'000UL, 100'000UL, 1UL << 20, 4UL << 20, 16UL << 20}) {
    std::vector<std::byte> out(bytes);
    std::vector<std::byte> in(bytes);
    std::vector<double> seconds;
    for (int i = 0; i < 15; ++i) {
      Outcome received;
      Outcome sent;
      TimePoint end{};
      network.endpoint(1).Receive(0, BallTag(), in, [&](const Status& status) {
        end = Now();
        received.Set(status);
      });
      const TimePoint start = Now();
      network.endpoint(0).Send(1, BallTag(), out, [&](const Status& status) { sent.Set(status); });
      CheckOk(received.Await(network.endpoint(1), Deadline(), "receive"));
      CheckOk(sent.Await(network.endpoint(0), Deadline(), "send"));
      seconds.push_back(ToSeconds(end - start));
    }
    const double ideal = static_cast<double>(bytes) / kRate;
    std::printf("%10zu %12.1f %12.1f %12.1f %9.2f%%\n", bytes, ideal * 1e6, Median(seconds) * 1e6,
                *std::max_element(seconds.begin(), seconds.end()) * 1e6, (Median(seconds) / ideal - 1) * 100);
  }
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  const std::string argument = argc > 1 ? argv[1] : "vader,self";
  const std::string part_bytes = argc > 2 ? argv[2] : std::to_string(weft::MpiOptions().part_bytes);
  if (argument == "--rank" || argument == "--rank-bare") {
    return weft::RunRank(argument == "--rank-bare", std::stoul(part_bytes));
  }
  weft::CompareWithBareMpi(argv[0], argument, part_bytes);
  weft::MeasureLoopback();
  return 0;
}
