// SPDX-License-Identifier: MIT
#include "thread/frame_walk.hpp"

#include "hmm/hmm_runtime.h"

#include <unwind.h>

namespace hmmrt {
namespace {

extern "C" void hmmrt_walk_from(const code_state* state, void (*collect)(void*), void* argument);

struct collection {
    fault_record* fault;
    bool inside; ///< we have reached the interrupted code, after the frames of this file
};

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* argument) {
    auto& self = *static_cast<collection*>(argument);
    int interrupted = 0;
    const std::uint64_t instruction = _Unwind_GetIPInfo(context, &interrupted);
    self.inside = self.inside || interrupted != 0;
    if (!self.inside) return _URC_NO_REASON;
    if (instruction == 0 || self.fault->frame_count >= max_frames) return _URC_END_OF_STACK;
    self.fault->frames[self.fault->frame_count++] = instruction;
    return _URC_NO_REASON;
}

void collect_frames(void* argument) {
    _Unwind_Backtrace(add_frame, argument);
}

} // namespace

void walk_frames(fault_record* fault, const code_state* state) {
    collection from = {fault, false};
    code_state start = *state;
    fault->frame_count = 0;
    if ((fault->access & HMM_ACCESS_EXEC) != 0) {
        // The code jumped to an address without code, most likely by a call,
        // which has pushed the return address. Continue there, because an
        // unwinder would try to read the code.
        fault->frames[fault->frame_count++] = start.rip;
        start.rip = *reinterpret_cast<const std::uint64_t*>(start.rsp);
        start.rsp += sizeof(start.rip);
    }
    hmmrt_walk_from(&start, collect_frames, &from);
}

} // namespace hmmrt
