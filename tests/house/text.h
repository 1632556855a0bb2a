// Rules for what is written: links of the documentation, and words that have no place in the repository.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft::house {

// Every relative link or image of a Markdown file below `root` that leads to no file, or to no heading of that file:
// "docs/a.md:3: leads nowhere: b.md#c". Links with a scheme (https:) are not followed, code is not read.
std::vector<std::string> FindBrokenLinks(const std::filesystem::path& root);

// Every line below `root` that has one of `words`: "docs/a.md:3: has 'x'". Files with a zero byte are not read.
std::vector<std::string> FindWords(const std::filesystem::path& root, const std::vector<std::string>& words);

}  // namespace weft::house
