// The subcommands of `weft`. Each lives in a file of its own (`validate_command.h`): it adds its options and a
// callback to the app, and the callback leaves what the process exits with in `*exit_code`. main.cc adds them all.
//
// A callback prints what was asked for to stdout and errors to stderr, one line each. It throws nothing.
#pragma once

#include <string>

#include <cstdint>
#include <string>

#include "common/status.h"

namespace CLI {
class App;
}  // namespace CLI

namespace weft {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;   // the input was fine, the work failed
inline constexpr int kExitBadInput = 2;  // a file, flag or value was refused

// kExitOk for OK; kExitBadInput for what tells of the input (INVALID_ARGUMENT, NOT_FOUND, OUT_OF_RANGE, DATA_LOSS);
// kExitFailure for the rest.
int ExitCodeOf(const Status& status);

// Writes "weft: " and the message to stderr, in one line, and returns the exit code. Writes nothing for OK.
int ReportStatus(const Status& status);

// --seed, any number from 0 to 2^64 - 1: a sign would be taken for a number near 2^64.
void AddSeedOption(CLI::App& command, std::uint64_t* seed, const std::string& what);

// As above for a message of one's own. Line breaks in it become spaces.
void ReportError(const std::string& message);

}  // namespace weft
