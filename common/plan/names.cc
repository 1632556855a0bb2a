#include "common/plan/names.h"

#include <array>
#include <cctype>
#include <utility>

#include "common/check.h"

namespace weft {
namespace {

template <typename E>
using Entry = std::pair<E, const char*>;

constexpr auto Table(StrategyType) {
  return std::to_array<Entry<StrategyType>>({{StrategyType::kAuto, "Auto"},
                                             {StrategyType::kInterleavedPS, "InterleavedPS"},
                                             {StrategyType::kMergedPS, "MergedPS"},
                                             {StrategyType::kBulkSynchronousPS, "BulkSynchronousPS"},
                                             {StrategyType::kSwarm, "Swarm"},
                                             {StrategyType::kAllReduce, "AllReduce"},
                                             {StrategyType::kLocalSGD, "LocalSGD"},
                                             {StrategyType::kDPSGD, "DPSGD"},
                                             {StrategyType::kADPSGD, "ADPSGD"},
                                             {StrategyType::kSGP, "SGP"}});
}
constexpr auto Table(Fusion) {
  return std::to_array<Entry<Fusion>>({{Fusion::kPerLayer, "PerLayer"},
                                       {Fusion::kMGWFBP, "MGWFBP"},
                                       {Fusion::kOptimal, "Optimal"},
                                       {Fusion::kBalanced, "Balanced"}});
}
constexpr auto Table(PhaseRule) {
  return std::to_array<Entry<PhaseRule>>({{PhaseRule::kFigure, "Figure"}, {PhaseRule::kFormula, "Formula"}});
}
constexpr auto Table(WindowRule) {
  return std::to_array<Entry<WindowRule>>(
      {{WindowRule::kAfterBackward, "AfterBackward"}, {WindowRule::kWholeIteration, "WholeIteration"}});
}
constexpr auto Table(Tail) {
  return std::to_array<Entry<Tail>>({{Tail::kHalf, "Half"}, {Tail::kMeasured, "Measured"}});
}
constexpr auto Table(Apply) {
  return std::to_array<Entry<Apply>>({{Apply::kDeadline, "Deadline"}, {Apply::kLate, "Late"}});
}
constexpr auto Table(LocalStepsDistribution) {
  return std::to_array<Entry<LocalStepsDistribution>>(
      {{LocalStepsDistribution::kConstant, "Constant"}, {LocalStepsDistribution::kGeometric, "Geometric"}});
}
constexpr auto Table(CombineOrder) {
  return std::to_array<Entry<CombineOrder>>(
      {{CombineOrder::kCombineThenAdapt, "CombineThenAdapt"}, {CombineOrder::kAdaptThenCombine, "AdaptThenCombine"}});
}

template <typename E>
const char* NameIn(E value) {
  static constexpr auto kTable = Table(E{});
  for (const auto& [entry, name] : kTable) {
    if (entry == value) return name;
  }
  WEFT_CHECK(false) << "an enumeration holds " << static_cast<int>(value);
  return "";
}

std::string Loose(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != '-') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

}  // namespace

const char* Name(StrategyType value) { return NameIn(value); }
const char* Name(Fusion value) { return NameIn(value); }
const char* Name(PhaseRule value) { return NameIn(value); }
const char* Name(WindowRule value) { return NameIn(value); }
const char* Name(Tail value) { return NameIn(value); }
const char* Name(Apply value) { return NameIn(value); }
const char* Name(LocalStepsDistribution value) { return NameIn(value); }
const char* Name(CombineOrder value) { return NameIn(value); }

template <typename E>
std::optional<E> FromName(std::string_view name) {
  for (const auto& [value, known] : Table(E{})) {
    if (name == known) return value;
  }
  return std::nullopt;
}

template <typename E>
std::optional<E> FromLooseName(std::string_view name) {
  for (const auto& [value, known] : Table(E{})) {
    if (Loose(name) == Loose(known)) return value;
  }
  return std::nullopt;
}

template <typename E>
std::string AllNames() {
  std::string out;
  for (const auto& [value, known] : Table(E{})) {
    if (!out.empty()) out += ", ";
    out += known;
  }
  return out;
}

#define WEFT_INSTANTIATE_NAMES(E)                               \
  template std::optional<E> FromName<E>(std::string_view);      \
  template std::optional<E> FromLooseName<E>(std::string_view); \
  template std::string AllNames<E>()
WEFT_INSTANTIATE_NAMES(StrategyType);
WEFT_INSTANTIATE_NAMES(Fusion);
WEFT_INSTANTIATE_NAMES(PhaseRule);
WEFT_INSTANTIATE_NAMES(WindowRule);
WEFT_INSTANTIATE_NAMES(Tail);
WEFT_INSTANTIATE_NAMES(Apply);
WEFT_INSTANTIATE_NAMES(LocalStepsDistribution);
WEFT_INSTANTIATE_NAMES(CombineOrder);
#undef WEFT_INSTANTIATE_NAMES

}  // namespace weft
