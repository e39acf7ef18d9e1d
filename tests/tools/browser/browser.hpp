// SPDX-License-Identifier: MIT
// A headless browser, and helpers for files and programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

using texts = std::vector<std::string>;

std::string contents_of(const std::string& path);
void write(const std::string& path, std::string_view text);
/// Returns the text with the first @old replaced.
std::string changed(std::string text, std::string_view old, std::string_view by);

/// A folder that is removed with its contents.
class temporary_folder {
  public:
    temporary_folder();
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    ~temporary_folder();

    std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

  private:
    std::string path_;
};

struct output {
    std::string out, err;
};

/// Runs a command that must succeed, in our environment if @environment is empty. Kills its
/// remaining processes, which could still write to the folder.
output run(const texts& command, const texts& environment, const temporary_folder& folder);

/// Shows a page. @options determine what the browser writes. It doesn't get the environment of a
/// desktop, where it would look for services.
output browse(const std::string& page, const temporary_folder& folder, const texts& options);
