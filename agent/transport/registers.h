// Memory of each worker that the others read and change without its doing: "registers", one-sided where the transport
// has it. Ranks 0..ranks-1 take part; each exposes the same number of bytes, zeroed.
//
// Three mechanisms give the same semantics; a probe at start-up picks one (docs/design/transport.md):
//   shared memory    all ranks are on one host: loads, stores and processor atomics; no other process has to run
//   one-sided        MPI's windows, by calls that give a request; where the hardware does not carry them out, the
//                    ranks' progress threads do
//   service          requests to the peer's transport thread, where one-sided calls are broken or could hang, and on
//                    the loopback by default
//
// Atomicity: 8-byte words that are 8-byte aligned are read and written whole, and FetchOp is atomic among all FetchOps
// on that word and, by the owner, local FetchOps (rank() as target). Nothing wider is atomic: a Get that meets a Put or
// the owner's stores is torn, so what is in a register carries sequence numbers and a checksum.
// Order: two operations of one rank on one peer may be carried out in any order until the first one's `done` has run.
//
// An operation may take for ever (its peer stands still): a caller that has waited long enough lets it go, and it ends
// later. The operation shares ownership of its buffer for that. All functions may be called from any thread; `done`
// runs once, on the transport's thread, or on the calling one before the call returns (shared memory, and a rank's own
// under the service), and is short.
// Errors of `done`: UNAVAILABLE (the peer is gone, named, or the service's request was lost, and nothing was done),
// CANCELLED (Transport::Abort). A rank may let its registers go before others do, which still reach its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"

namespace weft {

enum class RegisterMechanism { kSharedMemory, kOneSided, kOneSidedWithProgressThread, kService };
const char* Name(RegisterMechanism mechanism);

struct RegistersOptions {
  int ranks = 1;
  std::size_t bytes = 0;  // that each rank exposes
  // For tests and measurements: no probe, this one. UNIMPLEMENTED where the transport does not have it.
  std::optional<RegisterMechanism> mechanism{};
  // For the same: false probes as if no two ranks were on one host.
  bool share_memory = true;
};

using SharedBytes = std::shared_ptr<std::vector<std::byte>>;
using RegisterDone = std::function<void(const Status&)>;
using FetchDone = std::function<void(const Result<std::uint64_t>&)>;  // the word's value before

enum class FetchOperation { kAdd, kOr, kAnd };

class Registers {
 public:
  virtual ~Registers() = default;

  virtual RegisterMechanism mechanism() const = 0;
  // Why this mechanism, one line: "all 4 ranks are on one host".
  virtual const std::string& reason() const = 0;

  // Own memory, 64-byte aligned. The owner reads and writes it with LoadWords, StoreWords and the atomic word accesses
  // below, at any time.
  virtual std::span<std::byte> local() = 0;

  // Reads into->size() bytes at `offset` of `rank`'s memory. Offset and size are multiples of 8.
  virtual void Get(int rank, std::size_t offset, SharedBytes into, RegisterDone done) = 0;
  // Writes all of `from`.
  virtual void Put(int rank, std::size_t offset, SharedBytes from, RegisterDone done) = 0;
  virtual void Fetch(int rank, std::size_t offset, FetchOperation operation, std::uint64_t operand, FetchDone done) = 0;
};

// Waits until `deadline` for one operation. DEADLINE_EXCEEDED names the rank; the operation then goes on by itself.
Status GetAndWait(Registers& registers, int rank, std::size_t offset, const SharedBytes& into, TimePoint deadline);
Status PutAndWait(Registers& registers, int rank, std::size_t offset, const SharedBytes& from, TimePoint deadline);
Result<std::uint64_t> FetchAndWait(Registers& registers, int rank, std::size_t offset, FetchOperation operation,
                                   std::uint64_t operand, TimePoint deadline);

// Copies of whole words (multiples of 8 bytes, aligned) to and from memory that others may change meanwhile.
void LoadWords(std::span<const std::byte> shared, std::span<std::byte> own);
void StoreWords(std::span<const std::byte> own, std::span<std::byte> shared);
std::uint64_t LoadWord(std::span<const std::byte> shared, std::size_t offset);         // acquire
void StoreWord(std::span<std::byte> shared, std::size_t offset, std::uint64_t value);  // release

}  // namespace weft
