#include "cli/bench_quantizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "agent/core/quantizer.h"
#include "common/clock.h"

namespace weft {
namespace {

// How far the key is from what is encoded. Numbers are normal with a deviation of 1.
constexpr float kDistance = 0.25F;
constexpr std::size_t kPeriod = 65536;

enum Operation : std::size_t { kCopy, kEncodeDelta, kDecodeDelta, kEncodeRegister, kDecodeRegister, kOperations };
constexpr std::array<const char*, kOperations> kNames = {"memcpy", "encode delta", "add delta", "encode register",
                                                         "decode register"};
constexpr std::array<const char*, kOperations> kKeys = {"memcpy", "encode_delta", "add_delta", "encode_register",
                                                        "decode_register"};

struct Figures {
  int bits = 0;
  bool rotation = false;
  std::int64_t bytes = 0;
  std::size_t delta_bytes = 0;
  std::array<double, kOperations> seconds = {};  // medians

  double Ratio(std::size_t operation) const { return seconds[kCopy] / seconds[operation]; }
};

// Of this thread: what other processes do is left out, as far as they do not take the caches and the memory.
double ProcessorSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class QuantizerBench {
 public:
  QuantizerBench(const QuantizerOptions& options, std::size_t count)
      : options_(options),
        quantizer_(options, count),
        x_(count),
        y_(count),
        out_(count),
        sum_(count),
        limits_(quantizer_.blocks(), kDistance * (options.rotation ? 3.2F : 1.0F)),
        delta_(quantizer_.delta_bytes()),
        register_(quantizer_.register_bytes()) {
    std::minstd_rand random(1);
    std::normal_distribution<float> normal;
    // 65536 numbers over and over: their making would take longer than what is timed.
    for (std::size_t i = 0; i < count; ++i) {
      x_[i] = i < kPeriod ? normal(random) : x_[i - kPeriod];
      y_[i] = i < kPeriod ? x_[i] + (random() % 64 < 32 ? kDistance : -kDistance) / 2 : y_[i - kPeriod];
    }
  }

  Status Run(std::size_t operation) {
    switch (operation) {
      case kCopy:
        std::memcpy(out_.data(), x_.data(), x_.size() * sizeof(float));
        return OkStatus();
      case kEncodeDelta:
        return quantizer_.EncodeDelta(x_, {.writer = 1, .version = ++version_}, delta_, out_);
      case kDecodeDelta:
        return quantizer_.AddDelta(delta_, sum_);
      case kEncodeRegister:
        return quantizer_.EncodeRegister(x_, {.writer = 1, .version = ++version_}, limits_, register_);
      default:
        return quantizer_.DecodeRegister(register_, y_, out_, &failed_);
    }
  }

  // Each operation once, its result held against what it must be.
  Status Check() {
    std::fill(sum_.begin(), sum_.end(), 0.0F);
    WEFT_RETURN_IF_ERROR(Run(kEncodeDelta));
    WEFT_RETURN_IF_ERROR(Run(kDecodeDelta));
    for (std::size_t i = 0; i < sum_.size(); ++i) {
      if (sum_[i] != out_[i]) return Wrong("the delta's float ", i);
    }
    WEFT_RETURN_IF_ERROR(CheckNear("the delta's block ", 6.0F));
    WEFT_RETURN_IF_ERROR(Run(kEncodeRegister));
    WEFT_RETURN_IF_ERROR(Run(kDecodeRegister));
    if (!failed_.empty()) return Wrong("the hash of block ", failed_.front());
    return CheckNear("the register's block ", limits_.empty() ? 0 : limits_[0]);
  }

 private:
  static Status Wrong(const std::string& what, std::size_t index) {
    return InternalError("bench quantizer: " + what + std::to_string(index) + " is wrong");
  }

  // The root of the mean squared error of each block is at most a third of a step (it is to be one 3.46th) where the
  // largest number or distance is `range`.
  Status CheckNear(const char* what, float range) const {
    const double bound = options_.bits == 0 ? 0 : 2 * range / (std::ldexp(1.0, options_.bits) - 1) / 3;
    for (std::size_t begin = 0; begin < x_.size(); begin += Quantizer::kBlock) {
      const std::size_t end = std::min(x_.size(), begin + Quantizer::kBlock);
      double square = 0;
      for (std::size_t i = begin; i < end; ++i) square += std::pow(static_cast<double>(out_[i]) - x_[i], 2);
      if (!(std::sqrt(square / static_cast<double>(end - begin)) <= bound)) {
        return Wrong(what, begin / Quantizer::kBlock);
      }
    }
    return OkStatus();
  }

  QuantizerOptions options_;
  Quantizer quantizer_;
  std::vector<float> x_, y_, out_, sum_;
  std::vector<float> limits_;
  std::vector<std::byte> delta_, register_;
  std::vector<std::size_t> failed_;
  std::uint64_t version_ = 0;
};

Result<Figures> Measure(const QuantizerOptions& options, std::int64_t bytes, double seconds) {
  Figures figures{.bits = options.bits, .rotation = options.rotation, .bytes = bytes};
  const auto count = static_cast<std::size_t>(bytes) / sizeof(float);
  figures.delta_bytes = Quantizer(options, count).delta_bytes();
  QuantizerBench bench(options, count);
  WEFT_RETURN_IF_ERROR(bench.Check());
  // What fits into a cache is timed with its own data there: each turn's first pass is not counted.
  const bool in_cache = bytes <= 4 << 20;
  const int passes = in_cache ? 8 : 1;
  Clock& clock = Clock::Steady();
  std::array<std::vector<double>, kOperations> times;
  const TimePoint end = clock.Now() + FromSeconds(seconds);
  for (int round = 0; round < 4 || clock.Now() < end; ++round) {
    for (std::size_t operation = 0; operation < kOperations; ++operation) {
      if (in_cache) WEFT_RETURN_IF_ERROR(bench.Run(operation));
      const double start = ProcessorSeconds();
      for (int pass = 0; pass < passes; ++pass) WEFT_RETURN_IF_ERROR(bench.Run(operation));
      times[operation].push_back((ProcessorSeconds() - start) / passes);
    }
  }
  for (std::size_t operation = 0; operation < kOperations; ++operation) {
    figures.seconds[operation] = Median(times[operation]);
  }
  return figures;
}

void PrintTable(const std::vector<Figures>& all) {
  std::printf("%-10s %5s %9s %14s", "bytes", "bits", "rotation", "memcpy GB/s");
  for (std::size_t i = kEncodeDelta; i < kOperations; ++i) std::printf(" %16s", kNames[i]);
  std::printf("\n");
  for (const Figures& f : all) {
    const std::string bits = f.bits == 0 ? "off" : std::to_string(f.bits);
    std::printf("%-10lld %5s %9s %14.2f", static_cast<long long>(f.bytes), bits.c_str(), f.rotation ? "yes" : "no",
                static_cast<double>(f.bytes) / f.seconds[kCopy] * 1e-9);
    for (std::size_t i = kEncodeDelta; i < kOperations; ++i) std::printf(" %16.3f", f.Ratio(i));
    std::printf("\n");
  }
  std::printf(
      "Speed over that of memcpy of the same float32 bytes; medians of processor time, in turns, on one core.\n");
}

void PrintJson(const std::vector<Figures>& all) {
  nlohmann::json cases = nlohmann::json::array();
  for (const Figures& f : all) {
    nlohmann::json one = {
        {"bytes", f.bytes}, {"bits", f.bits}, {"rotation", f.rotation}, {"delta_bytes", f.delta_bytes}};
    for (std::size_t i = 0; i < kOperations; ++i) {
      one[std::string(kKeys[i]) + "_seconds"] = f.seconds[i];
      if (i != kCopy) one[std::string(kKeys[i]) + "_ratio"] = f.Ratio(i);
    }
    cases.push_back(std::move(one));
  }
  std::printf("%s\n", nlohmann::json{{"cases", std::move(cases)}}.dump().c_str());
}

}  // namespace

Status BenchQuantizer(const BenchQuantizerOptions& options) {
  for (const int bits : options.bits) {
    if (bits != 0 && (bits < 2 || bits > 16)) {
      return InvalidArgumentError("--bits: " + std::to_string(bits) + " is neither 0 nor within [2, 16]");
    }
  }
  std::vector<Figures> all;
  for (const std::int64_t bytes : options.bytes) {
    if (bytes < 4 || bytes > std::int64_t{1} << 32) {
      return InvalidArgumentError("--bytes: " + std::to_string(bytes) + " is not within [4, 4294967296]");
    }
    for (const int bits : options.bits) {
      for (const bool rotation : {false, true}) {
        if (bits == 0 && rotation) continue;
        WEFT_ASSIGN_OR_RETURN(Figures figures, Measure({.bits = bits, .rotation = rotation}, bytes, options.seconds));
        all.push_back(figures);
      }
    }
  }
  if (options.json) {
    PrintJson(all);
  } else {
    PrintTable(all);
  }
  return OkStatus();
}

}  // namespace weft
