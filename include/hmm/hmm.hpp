// SPDX-License-Identifier: MIT
// The C++ interface, all of it.
#pragma once

#include <hmm/device.hpp>
#include <hmm/error.hpp>
#include <hmm/launch.hpp>
#include <hmm/memory.hpp>
#include <hmm/stream.hpp>
#include <hmm/version.hpp>
