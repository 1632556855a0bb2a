#include "agent/transport/transport.h"

#include <string>

#include "agent/transport/outcome.h"

namespace weft {

Status SendAndWait(Transport& transport, int to, Tag tag, std::span<const std::byte> data, TimePoint deadline) {
  Outcome outcome;
  transport.Send(to, tag, data, [&outcome](const Status& status) { outcome.Set(status); });
  return outcome.Await(transport, deadline,
                       "sending " + std::to_string(data.size()) + " bytes to rank " + std::to_string(to));
}

Status ReceiveAndWait(Transport& transport, int from, Tag tag, std::span<std::byte> data, TimePoint deadline) {
  Outcome outcome;
  transport.Receive(from, tag, data, [&outcome](const Status& status) { outcome.Set(status); });
  return outcome.Await(transport, deadline,
                       "receiving " + std::to_string(data.size()) + " bytes from rank " + std::to_string(from));
}

Status AllReduceAndWait(Transport& transport, std::span<float> data, int ranks, TimePoint deadline) {
  Outcome outcome;
  transport.AllReduce(data, ranks, [&outcome](const Status& status) { outcome.Set(status); });
  return outcome.Await(transport, deadline,
                       "summing " + std::to_string(data.size()) + " floats over " + std::to_string(ranks) + " ranks");
}

}  // namespace weft
