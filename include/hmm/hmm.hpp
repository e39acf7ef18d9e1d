// SPDX-License-Identifier: MIT
// Includes the whole C++ interface.
#pragma once

#if __cplusplus < 202002L
#error "the C++ interface of hmmrt needs C++20: compile with -std=c++20 or later"
#else

#include <hmm/advice.hpp>
#include <hmm/annotation.hpp>
#include <hmm/attributes.hpp>
#include <hmm/batch.hpp>
#include <hmm/device.hpp>
#include <hmm/error.hpp>
#include <hmm/growable_vector.hpp>
#include <hmm/knob.hpp>
#include <hmm/launch.hpp>
#include <hmm/location.hpp>
#include <hmm/managed_memory.hpp>
#include <hmm/memory.hpp>
#include <hmm/peer.hpp>
#include <hmm/quota.hpp>
#include <hmm/registered_memory.hpp>
#include <hmm/residency.hpp>
#include <hmm/stats.hpp>
#include <hmm/stream.hpp>
#include <hmm/version.hpp>
#include <hmm/virtual_memory.hpp>

#endif
