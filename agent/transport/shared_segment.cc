#include "agent/transport/shared_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace weft {
namespace {

// The secret lies before the bytes, which it keeps aligned.
constexpr std::size_t kHeaderBytes = 64;

}  // namespace

Result<std::unique_ptr<SharedSegment>> SharedSegment::Make(std::size_t bytes) {
  Address address{.process = getpid(), .bytes = bytes};
  if (getrandom(address.secret.data(), sizeof(address.secret), 0) != sizeof(address.secret)) {
    return ErrnoError("draw a secret for shared memory", errno);
  }
  std::unique_ptr<SharedSegment> segment(new SharedSegment(address));
  segment->descriptor_ = memfd_create("weft-registers", MFD_CLOEXEC);
  if (segment->descriptor_ < 0) return ErrnoError("make shared memory", errno);
  segment->address_.descriptor = segment->descriptor_;
  if (ftruncate(segment->descriptor_, static_cast<off_t>(kHeaderBytes + bytes)) != 0) {
    return ErrnoError("make shared memory of " + std::to_string(bytes) + " bytes", errno);
  }
  WEFT_RETURN_IF_ERROR(segment->Map(segment->descriptor_));
  std::memcpy(segment->mapping_, address.secret.data(), sizeof(address.secret));
  return segment;
}

Result<std::unique_ptr<SharedSegment>> SharedSegment::Open(const Address& address) {
  const std::string path = "/proc/" + std::to_string(address.process) + "/fd/" + std::to_string(address.descriptor);
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return ErrnoError("open shared memory " + path, errno);
  std::unique_ptr<SharedSegment> segment(new SharedSegment(address));
  // Another file that has this name here may be shorter, and touching it beyond its end would end the process.
  const off_t size = lseek(descriptor, 0, SEEK_END);
  Status mapped = NotFoundError(path + " is not the memory that was to be shared");
  if (size == static_cast<off_t>(kHeaderBytes + address.bytes)) mapped = segment->Map(descriptor);
  close(descriptor);
  WEFT_RETURN_IF_ERROR(mapped);
  if (std::memcmp(segment->mapping_, address.secret.data(), sizeof(address.secret)) != 0) {
    return NotFoundError(path + " is not the memory that was to be shared");
  }
  return segment;
}

Status SharedSegment::Map(int descriptor) {
  const std::size_t size = kHeaderBytes + address_.bytes;
  void* const mapping = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapping == MAP_FAILED) return ErrnoError("map shared memory of " + std::to_string(size) + " bytes", errno);
  mapping_ = mapping;
  mapped_bytes_ = size;
  return OkStatus();
}

SharedSegment::~SharedSegment() {
  Close();
  if (mapping_ != nullptr) munmap(mapping_, mapped_bytes_);
}

std::span<std::byte> SharedSegment::bytes() const {
  return {static_cast<std::byte*>(mapping_) + kHeaderBytes, address_.bytes};
}

void SharedSegment::Close() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

}  // namespace weft
