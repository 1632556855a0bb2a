// mpi_failure_ranks CASE, under mpirun with two ranks: what ends badly, which no gtest program survives. Rank 0 prints
// "as expected" or what it saw instead; CTest looks for that line and for an end within its time-out.
#include <signal.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "agent/transport/mpi/mpi_transport.h"
#include "common/clock.h"

namespace weft {
namespace {

TimePoint In(Duration duration) { return Clock::Steady().Now() + duration; }

Tag PushTag() { return Tag(MessageKind::kPush, 0, 0); }

// Rank 1 waits for a message that never comes, so that it ends only when it is ended.
void WaitForNothing(Transport& transport) {
  std::byte nothing{};
  const Status status = ReceiveAndWait(transport, 0, Tag(MessageKind::kState, 0, 0), std::span(&nothing, 1),
                                       In(std::chrono::minutes(10)));
  std::cout << "rank 1 went on: " << status << std::endl;
  ExitWithoutFinalize(1);
}

void Expect(const Status& status, StatusCode code, const std::string& part) {
  const bool holds = status.code() == code && status.message().find(part) != std::string::npos;
  std::cout << (holds ? "as expected" : "not as expected: " + status.ToString()) << std::endl;
}

// The other rank does not come to the shutdown.
void ShutdownAlone(MpiTransport& transport) {
  if (transport.rank() == 1) WaitForNothing(transport);
  Expect(transport.Shutdown(In(std::chrono::milliseconds(200))), StatusCode::kDeadlineExceeded, "not all ranks came");
}

// A large message that nobody receives stays with MPI.
void SendWithoutReceiver(MpiTransport& transport) {
  if (transport.rank() == 1) WaitForNothing(transport);
  const std::vector<std::byte> message(8 << 20);
  const Status sent = SendAndWait(transport, 1, PushTag(), message, In(std::chrono::milliseconds(200)));
  if (sent.code() != StatusCode::kDeadlineExceeded || sent.message().find("to rank 1") == std::string::npos) {
    return Expect(sent, StatusCode::kDeadlineExceeded, "to rank 1");
  }
  Expect(transport.Shutdown(In(std::chrono::seconds(5))), StatusCode::kFailedPrecondition, "left buffers to MPI");
}

// The large messages of a sum that the other rank does not take part in stay with MPI as well; the sum ends all the
// same.
void SumWithoutPeers(MpiTransport& transport) {
  if (transport.rank() == 1) WaitForNothing(transport);
  std::vector<float> data(1 << 20, 1.0F);
  Status summed;
  transport.AllReduce(data, 2, [&summed](const Status& status) { summed = status; });
  // A message to oneself comes behind those of the sum: they are with MPI by then.
  std::byte sent{};
  std::byte received{};
  transport.Receive(0, PushTag(), std::span(&received, 1), [](const Status&) {});
  if (const Status status = SendAndWait(transport, 0, PushTag(), std::span(&sent, 1), In(std::chrono::seconds(5)));
      !status.ok()) {
    return Expect(status, StatusCode::kOk, "");
  }
  transport.Abort(InternalError("the case ends"));
  if (summed.code() != StatusCode::kCancelled) return Expect(summed, StatusCode::kCancelled, "the case ends");
  Expect(transport.Shutdown(In(std::chrono::seconds(5))), StatusCode::kFailedPrecondition, "left buffers to MPI");
}

// mpirun notices the death and ends rank 1, which waits.
void Killed(MpiTransport& transport) {
  if (transport.rank() == 1) WaitForNothing(transport);
  std::cout << "as expected" << std::endl;
  kill(getpid(), SIGKILL);
}

int Main(const std::string& name) {
  auto transport = MpiTransport::Create({}, In(std::chrono::seconds(30)));
  if (!transport.ok()) {
    std::cout << transport.status() << std::endl;
    ExitWithoutFinalize(1);
  }
  if (name == "shutdown-alone") ShutdownAlone(**transport);
  if (name == "send-without-receiver") SendWithoutReceiver(**transport);
  if (name == "sum-without-peers") SumWithoutPeers(**transport);
  if (name == "killed") Killed(**transport);
  ExitWithoutFinalize(1);
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return weft::Main(argc > 1 ? argv[1] : ""); }
