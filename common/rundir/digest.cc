#include "common/rundir/digest.h"

#include <openssl/evp.h>

#include <array>

#include "common/check.h"

namespace weft {

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  WEFT_CHECK(context_->evp != nullptr && EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::Update(std::span<const std::byte> bytes) {
  WEFT_CHECK(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::Finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  WEFT_CHECK(EVP_DigestFinal_ex(context_->evp, digest.data(), &size) == 1);
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

std::string Sha256Of(std::span<const std::byte> bytes) {
  Sha256 digest;
  digest.Update(bytes);
  return digest.Finish();
}

}  // namespace weft
