// SPDX-License-Identifier: MIT
// Names that the front end, the passes and the headers for device code share.
#pragma once

namespace hmmcc {

/// Annotation of a kernel, followed by the list of its parameters.
inline constexpr char kernel_annotation[] = "hmm.kernel:";
/// Annotation of __managed__ variables, from host_defines.h.
inline constexpr char managed_annotation[] = "hmm.managed";
/// Prefix of symbols of the device half that the host half refers to, before the name of the kernel
/// or variable. hmmcc makes these symbols local to the object file.
inline constexpr char device_symbol[] = "__hmm_device.";
/// A synchronization point that the passes insert.
inline constexpr char lockstep_intrinsic[] = "__hmm_lockstep";
/// Metadata of loads that are where the source has them. Loads that LLVM creates or hoists above a
/// branch don't have it.
inline constexpr char source_load[] = "hmm.source_load";
/// Metadata of accesses to memory that other threads of the block may access in the same region.
inline constexpr char of_other_threads[] = "hmm.of_other_threads";

} // namespace hmmcc
