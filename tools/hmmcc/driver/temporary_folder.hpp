// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

namespace hmmcc {

/// A temporary folder that is removed on destruction and by signals.
class temporary_folder {
  public:
    temporary_folder();
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    ~temporary_folder();

    std::string file(const std::string& name) const { return (path_ / name).string(); }

  private:
    std::filesystem::path path_;
};

} // namespace hmmcc
