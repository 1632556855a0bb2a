// Errors as values. A function that can fail returns Status, or Result<T> when it also makes something; both must be
// looked at. The codes are gRPC's, so that one travels over a wire unchanged. A message names the place, the value and
// the rule (`worker.replicas: 0 is below 1`), in one line without a full stop.
#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <variant>

#include "common/check.h"

namespace weft {

// Numbered as gRPC's status codes.
enum class StatusCode {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
};

const char* StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // "INVALID_ARGUMENT: worker.replicas: 0 is below 1", or "OK".
  std::string ToString() const;

  // The same error with `context` and ": " before its message; OK stays OK.
  Status WithContext(const std::string& context) const;

  friend bool operator==(const Status&, const Status&) = default;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status OkStatus() { return {}; }
inline Status CancelledError(std::string message) { return {StatusCode::kCancelled, std::move(message)}; }
inline Status InvalidArgumentError(std::string message) { return {StatusCode::kInvalidArgument, std::move(message)}; }
inline Status DeadlineExceededError(std::string message) { return {StatusCode::kDeadlineExceeded, std::move(message)}; }
inline Status NotFoundError(std::string message) { return {StatusCode::kNotFound, std::move(message)}; }
inline Status AlreadyExistsError(std::string message) { return {StatusCode::kAlreadyExists, std::move(message)}; }
inline Status PermissionDeniedError(std::string message) { return {StatusCode::kPermissionDenied, std::move(message)}; }
inline Status ResourceExhaustedError(std::string message) {
  return {StatusCode::kResourceExhausted, std::move(message)};
}
inline Status FailedPreconditionError(std::string message) {
  return {StatusCode::kFailedPrecondition, std::move(message)};
}
inline Status AbortedError(std::string message) { return {StatusCode::kAborted, std::move(message)}; }
inline Status UnimplementedError(std::string message) { return {StatusCode::kUnimplemented, std::move(message)}; }
inline Status InternalError(std::string message) { return {StatusCode::kInternal, std::move(message)}; }
inline Status UnavailableError(std::string message) { return {StatusCode::kUnavailable, std::move(message)}; }
inline Status DataLossError(std::string message) { return {StatusCode::kDataLoss, std::move(message)}; }

// `action` and the text of `error_number` (an errno value): "open runs/a: No such file or directory". The code follows
// the errno: ENOENT is NOT_FOUND, EACCES PERMISSION_DENIED, ENOSPC RESOURCE_EXHAUSTED, others UNKNOWN.
Status ErrnoError(const std::string& action, int error_number);

std::ostream& operator<<(std::ostream& out, const Status& status);

// A T, or the error that kept it from being made.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}        // NOLINT(google-explicit-constructor)
  Result(Status status) : state_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    WEFT_CHECK(!std::get<Status>(state_).ok()) << "a Result without a value needs an error";
  }

  bool ok() const { return std::holds_alternative<T>(state_); }
  Status status() const { return ok() ? OkStatus() : std::get<Status>(state_); }

  // The value. Checks that there is one.
  T& value() & {
    WEFT_CHECK(ok()) << status().ToString();
    return std::get<T>(state_);
  }
  const T& value() const& {
    WEFT_CHECK(ok()) << status().ToString();
    return std::get<T>(state_);
  }
  T&& value() && {
    WEFT_CHECK(ok()) << status().ToString();
    return std::get<T>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<Status, T> state_;
};

}  // namespace weft

#define WEFT_CONCAT_INNER_(a, b) a##b
#define WEFT_CONCAT_(a, b) WEFT_CONCAT_INNER_(a, b)

// Returns the error of `expr` from this function.
#define WEFT_RETURN_IF_ERROR(expr)                                  \
  do {                                                              \
    if (::weft::Status weft_status_ = (expr); !weft_status_.ok()) { \
      return weft_status_;                                          \
    }                                                               \
  } while (false)

// WEFT_ASSIGN_OR_RETURN(auto file, Open(path)): the value, or the error returned from this function.
#define WEFT_ASSIGN_OR_RETURN(lhs, expr) WEFT_ASSIGN_OR_RETURN_INNER_(WEFT_CONCAT_(weft_result_, __LINE__), lhs, expr)
#define WEFT_ASSIGN_OR_RETURN_INNER_(result, lhs, expr) \
  auto result = (expr);                                 \
  if (!result.ok()) return result.status();             \
  lhs = std::move(result).value()
