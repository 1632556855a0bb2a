// SHA-256, so that a file that is not the one that was written is known.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace weft {

// Single thread.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(std::span<const std::byte> bytes);
  // 64 hexadecimal digits of everything so far. Nothing but destruction follows.
  std::string Finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string Sha256Of(std::span<const std::byte> bytes);

}  // namespace weft
