// Memory that processes of one host share, without a name in any file system: nothing is left behind however they end,
// and no mount (/dev/shm) can be too small for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/status.h"

namespace weft {

class SharedSegment {
 public:
  // How another process of this host finds the segment, as long as its maker has not closed it. A plain value.
  struct Address {
    std::int64_t process = 0;
    std::int64_t descriptor = -1;
    std::uint64_t bytes = 0;
    std::array<std::uint64_t, 2> secret{};  // tells another process's memory apart, should the numbers mean one here
  };

  // `bytes` zeroed bytes. RESOURCE_EXHAUSTED and others, by errno: no memory or no descriptor is left.
  static Result<std::unique_ptr<SharedSegment>> Make(std::size_t bytes);
  // Maps another's. NOT_FOUND and others: it is not on this host, or not to be seen from here.
  static Result<std::unique_ptr<SharedSegment>> Open(const Address& address);

  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  const Address& address() const { return address_; }
  // 64-byte aligned.
  std::span<std::byte> bytes() const;
  // From now on nobody else can open it. Those that have keep it.
  void Close();

 private:
  explicit SharedSegment(const Address& address) : address_(address) {}
  Status Map(int descriptor);

  Address address_;
  int descriptor_ = -1;  // the maker's, until Close
  void* mapping_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace weft
