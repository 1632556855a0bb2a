#include "common/report/iteration_line.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>
#include <type_traits>

namespace weft {
namespace {

// Takes from the front of a text; once something else stood there, nothing any more.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool ok() const { return ok_; }
  std::string_view rest() const { return text_; }

  bool Take(std::string_view expected) {
    if (!text_.starts_with(expected)) return false;
    text_.remove_prefix(expected.size());
    return true;
  }
  void Expect(std::string_view expected) { ok_ = ok_ && Take(expected); }

  template <typename T>
  T Number(std::string_view key) {
    Expect(key);
    return Number<T>();
  }
  template <typename T>
  T Number() {
    T value{};
    if constexpr (std::is_floating_point_v<T>) {
      if (ok_ && Take("null")) return std::numeric_limits<T>::quiet_NaN();
    }
    // from_chars takes "inf" and "nan" too, which are no JSON.
    ok_ = ok_ && !text_.empty() && (text_[0] == '-' || (text_[0] >= '0' && text_[0] <= '9'));
    if (!ok_) return value;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    ok_ = error == std::errc();
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }

 private:
  std::string_view text_;
  bool ok_ = true;
};

}  // namespace

std::optional<IterationLine> ScanIterationLine(std::string_view line, std::vector<double>* group_stall_us) {
  Scanner scanner(line);
  IterationLine out;
  out.iteration = scanner.Number<std::int64_t>("{\"iteration\":");
  out.epoch = scanner.Number<std::int64_t>(",\"epoch\":");
  out.rank = scanner.Number<int>(",\"rank\":");
  out.start_ns = scanner.Number<std::int64_t>(",\"start_ns\":");
  out.iteration_us = scanner.Number<double>(",\"iteration_us\":");
  out.forward_us = scanner.Number<double>(",\"forward_us\":");
  out.stall_us = scanner.Number<double>(",\"stall_us\":");
  out.communication_us = scanner.Number<double>(",\"communication_us\":");
  scanner.Number<std::int64_t>(",\"sent_bytes\":");
  scanner.Number<std::int64_t>(",\"received_bytes\":");
  scanner.Expect(",\"group_stall_us\":[");
  group_stall_us->clear();
  while (scanner.ok() && !scanner.Take("]")) {
    if (!group_stall_us->empty()) scanner.Expect(",");
    group_stall_us->push_back(scanner.Number<double>());
  }
  out.loss = scanner.Number<double>(",\"loss\":");
  out.accuracy = scanner.Number<double>(",\"accuracy\":");
  scanner.Number<std::int64_t>(",\"samples\":");
  out.staleness = scanner.Number<double>(",\"staleness_iterations\":");
  scanner.Expect(",\"transfers\":[");
  // What a kill has cut ends elsewhere; a rank from 2^20 on is none.
  const bool whole = scanner.ok() && scanner.rest().ends_with("]}");
  if (!whole || out.iteration < 1 || out.rank < 0 || out.rank > 1 << 20) return std::nullopt;
  return out;
}

}  // namespace weft
