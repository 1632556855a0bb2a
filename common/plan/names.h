// The names of the plan's enumerations, as job files and JSON spell them ("InterleavedPS", "MGWFBP").
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/plan/plan.h"

namespace weft {

const char* Name(StrategyType value);
const char* Name(Fusion value);
const char* Name(PhaseRule value);
const char* Name(WindowRule value);
const char* Name(Tail value);
const char* Name(Apply value);
const char* Name(LocalStepsDistribution value);
const char* Name(CombineOrder value);

// The value with exactly this name; none for any other text. E is one of the enumerations above.
template <typename E>
std::optional<E> FromName(std::string_view name);

// The same in any case and with or without hyphens, for the command line: "mg-wfbp", "whole-iteration".
template <typename E>
std::optional<E> FromLooseName(std::string_view name);

// All names, for messages: "AfterBackward, WholeIteration".
template <typename E>
std::string AllNames();

}  // namespace weft
