// The files of the repository, as the house tests read them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft::house {

// The paths of all files below `root`, relative to it and sorted, without build/, runs/ and hidden folders but .ci.
std::vector<std::filesystem::path> ListFiles(const std::filesystem::path& root);

std::string ReadText(const std::filesystem::path& path);

std::vector<std::string> SplitLines(const std::string& text);

}  // namespace weft::house
