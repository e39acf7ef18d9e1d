// SPDX-License-Identifier: MIT
// What the front-end plugin tells the passes, which run in the same process.
#pragma once

namespace hmmcc {

/// True while clang compiles the device half of a file.
bool compiles_device_half();

} // namespace hmmcc
