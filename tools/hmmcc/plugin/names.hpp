// SPDX-License-Identifier: MIT
// Names that the front end, the passes and the headers for device code share.
#pragma once

namespace hmmcc {

/// Annotation of a kernel, followed by the list of its parameters.
inline constexpr char kernel_annotation[] = "hmm.kernel:";
/// Of __managed__ variables, from host_defines.h.
inline constexpr char managed_annotation[] = "hmm.managed";
/// The symbol of what the host half uses of the device half: this, and the name of
/// the kernel or variable. hmmcc makes such symbols local to the object file.
inline constexpr char device_symbol[] = "__hmm_device.";
/// A cut that the passes make themselves.
inline constexpr char pace_intrinsic[] = "__hmm_pace";
/// Metadata of the loads that the source has where they are. Those that LLVM makes, or moves in
/// front of a branch, do not have it.
inline constexpr char source_load[] = "hmm.source_load";
/// Metadata of accesses to memory that other threads of the block may access in the same part.
inline constexpr char of_other_threads[] = "hmm.of_other_threads";

} // namespace hmmcc
