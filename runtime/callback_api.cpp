// SPDX-License-Identifier: MIT
// The C interface: stream callbacks, which are host functions that get their
// stream's status.
#include "interface.hpp"

#include <memory>

namespace hmmrt {
namespace {

/// A callback, which is called exactly once: as a host function, or when it is
/// destroyed before that.
class callback {
  public:
    callback(hmmStream_t stream, hmmStreamCallback_t function, void* data, device& target)
        : stream_(stream), function_(function), data_(data), device_(target) {}

    static void call(void* raw) {
        auto* const self = static_cast<callback*>(raw);
        self->called_ = true;
        self->function_(self->stream_, hmmSuccess, self->data_);
    }
    static void destroy(void* raw) {
        const std::unique_ptr<callback> self(static_cast<callback*>(raw));
        if (self->called_) return;
        const hmmError_t sticky = self->device_.sticky_error();
        self->function_(self->stream_, sticky != hmmSuccess ? sticky : hmmErrorDeviceLost,
                        self->data_);
    }

  private:
    hmmStream_t stream_;
    hmmStreamCallback_t function_;
    void* data_;
    device& device_;
    bool called_ = false;
};

void add_callback(hmmStream_t stream, hmmStreamCallback_t function, void* data) {
    stream_user where(stream);
    auto queued = std::make_unique<callback>(stream, function, data, where.get_device());
    where.submit([&](device& target, hmmrt::stream* in) {
        target.call_host(callback::call, queued.get(), callback::destroy, in);
    });
    static_cast<void>(queued.release()); // the stream now owns the callback
}

} // namespace
} // namespace hmmrt

using namespace hmmrt;

hmmError_t hmmStreamAddCallback(hmmStream_t stream, hmmStreamCallback_t function, void* userData,
                                unsigned int flags) {
    return guarded("hmmStreamAddCallback", [&] {
        require(function != nullptr, "callback is NULL");
        require(flags == 0, "flags are not 0");
        add_callback(stream, function, userData);
    });
}
