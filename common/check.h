// WEFT_CHECK(condition) << "context": ends the process with the place and the context when an invariant of our own is
// broken. Not for input from outside, which is refused with a Status.
#pragma once

#include <sstream>

namespace weft::internal {

// Collects the message; its destructor prints it and aborts.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  CheckFailure(const CheckFailure&) = delete;
  CheckFailure& operator=(const CheckFailure&) = delete;
  [[noreturn]] ~CheckFailure();
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

// Gives `stream << x` the type void, so that both sides of ?: agree.
struct Voidify {
  void operator&(std::ostream&) const {}
};

}  // namespace weft::internal

#define WEFT_CHECK(condition)        \
  (condition) ? static_cast<void>(0) \
              : ::weft::internal::Voidify() & ::weft::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()
