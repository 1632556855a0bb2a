#include "tests/agent/data/test_files.h"

#include <zlib.h>

#include "common/check.h"

namespace weft {

std::string Gzip(std::string_view bytes) {
  z_stream stream{};
  WEFT_CHECK(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, bytes.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  WEFT_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string Idx(std::initializer_list<std::uint32_t> dimensions, std::string_view elements) {
  std::string out{0, 0, 8, static_cast<char>(dimensions.size())};
  for (const std::uint32_t size : dimensions) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((size >> shift) & 0xff);
  }
  return out.append(elements);
}

}  // namespace weft
