// SPDX-License-Identifier: MIT
/*
 * Clang makes each object file from hmmcc call these functions before main().
 *
 * Since there is a single address space, device code uses the program's
 * variable itself. We register it with libhmmrt, so that copies and attributes
 * treat its address correctly.
 */
#include "registry.hpp"

#include "hmm/hmm_runtime.h"
#include "model.hpp"
#include "required_processor.hpp"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace hmmcuda {
namespace {

class kernel_registry {
  public:
    /// Never destroyed, because the program's destructors may launch kernels
    /// too.
    static kernel_registry& get() {
        static auto* const instance = new kernel_registry;
        return *instance;
    }
    void add(const void* function, const kernel_code* code) {
        const std::unique_lock lock(mutex_);
        kernels_.insert_or_assign(function, code);
    }
    const kernel_code* find(const void* function) {
        const std::shared_lock lock(mutex_);
        const auto found = kernels_.find(function);
        return found == kernels_.end() ? nullptr : found->second;
    }
    std::size_t dynamic_limit(const kernel_code& kernel) {
        const std::shared_lock lock(mutex_);
        const auto found = limits_.find(&kernel);
        if (found != limits_.end()) return found->second;
        return model::shared_bytes -
               std::min<std::size_t>(kernel.static_shared, model::shared_bytes);
    }
    void set_dynamic_limit(const kernel_code& kernel, std::size_t bytes) {
        const std::unique_lock lock(mutex_);
        limits_.insert_or_assign(&kernel, bytes);
    }

  private:
    std::shared_mutex mutex_;
    std::unordered_map<const void*, const kernel_code*> kernels_;
    std::unordered_map<const kernel_code*, std::size_t> limits_; ///< those that were set
};

/// The argument of __cudaRegisterFatBinary().
struct binary_wrapper {
    std::int32_t magic;
    std::int32_t version;
    const char* data; ///< from hmmcc: the target processor of the device code
};

} // namespace

const kernel_code* find_kernel(const void* function) {
    return kernel_registry::get().find(function);
}

std::size_t dynamic_limit(const kernel_code& kernel) {
    return kernel_registry::get().dynamic_limit(kernel);
}

void set_dynamic_limit(const kernel_code& kernel, std::size_t bytes) {
    kernel_registry::get().set_dynamic_limit(kernel, bytes);
}

} // namespace hmmcuda

// The names and parameters are clang's.
extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
    static void* handle = nullptr;
    hmmcuda::require_processor(static_cast<const hmmcuda::binary_wrapper*>(wrapper)->data);
    return &handle;
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void**, const char* function, char* code, const char*, int, void*,
                            void*, void*, void*, int*) {
    hmmcuda::kernel_registry::get().add(function,
                                        reinterpret_cast<const hmmcuda::kernel_code*>(code));
}

/// The last argument is hmmcc's. If there is no memory for its entry, a variable counts as a host
/// variable. One without bytes has no address of its own.
void __cudaRegisterVar(void**, char* variable, char*, const char*, int, std::size_t bytes, int,
                       int managed) {
    if (bytes != 0) static_cast<void>(hmmRegisterVariable(variable, bytes, managed));
}

} // extern "C"
