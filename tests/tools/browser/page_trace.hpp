// SPDX-License-Identifier: MIT
// The recording that the page of hmmctl-page-test shows.
#pragma once

#include <string>

/// Writes a recording with each kind of suggestion and with names that a page has to escape.
void write_page_trace(const std::string& path);
