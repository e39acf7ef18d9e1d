// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include "driver/driver_machine.hpp"

namespace hmmrt {

std::unique_ptr<machine> choose_machine() {
    return std::make_unique<driver_machine>();
}

} // namespace hmmrt
