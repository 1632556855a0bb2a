// A decoder-only transformer on bytes, pre-norm as GPT-2: learned positions, GELU (by the error function), tied
// embeddings. It predicts each next byte from the ones before it.
//
// Layers: "embedding" (wte and wpe), per block "h.<i>.attn" (ln_1 and the two projections) and "h.<i>.mlp" (ln_2 and
// the two linear layers), "ln_f", and "head", which has no parameters of its own: its weights are wte, which so lie
// with the embedding, whose gradient is final last.
#pragma once

#include <cstdint>
#include <memory>

#include "agent/model/model.h"

namespace weft {

struct TransformerShape {
  int layers = 4;
  std::int64_t width = 128;  // a multiple of heads
  std::int64_t heads = 4;
  std::int64_t context = 128;  // predictions a sample; a sample has one byte more
};

// All values are at least 1.
std::unique_ptr<Model> MakeTransformer(const TransformerShape& shape);

}  // namespace weft
