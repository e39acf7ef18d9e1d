// SPDX-License-Identifier: MIT
/*
 * Launching code on a device.
 *
 *     hmm::launch(n, [=](std::size_t i) { y[i] += a * x[i]; });
 *     hmm::synchronize();
 *
 * The call copies (or moves) the callable, which lives until the launch has
 * ended. It runs on several lanes at once, on native threads that share all
 * memory with the program. Captured pointers and references may point anywhere.
 * An exception that leaves the callable ends the launch with hmmErrorAssert: the
 * hmm::error of the next synchronisation has it nested (std::rethrow_if_nested).
 */
#pragma once

#include <hmm/stream.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <ranges>
#include <type_traits>
#include <utility>

namespace hmm {

struct dim3 {
    std::uint32_t x = 1, y = 1, z = 1;

    /// The product of the dimensions, modulo 2^64.
    [[nodiscard]] constexpr std::uint64_t count() const noexcept {
        return std::uint64_t{x} * y * z;
    }
    friend constexpr bool operator==(const dim3&, const dim3&) noexcept = default;
};

/// The index of a thread in its grid.
struct thread_index {
    dim3 thread; ///< in its block
    dim3 block;  ///< in the grid
    dim3 block_size;
    dim3 grid_size;

    [[nodiscard]] constexpr std::size_t global_x() const noexcept {
        return std::size_t{block.x} * block_size.x + thread.x;
    }
    [[nodiscard]] constexpr std::size_t global_y() const noexcept {
        return std::size_t{block.y} * block_size.y + thread.y;
    }
    [[nodiscard]] constexpr std::size_t global_z() const noexcept {
        return std::size_t{block.z} * block_size.z + thread.z;
    }
};

namespace detail {

/// A callable that device code can call with an Argument.
template <class Function, class Argument, class Stored = std::decay_t<Function>>
concept kernel = std::invocable<Stored&, Argument>;

/// A range with elements that have an index.
template <class Range>
concept indexed_range = std::ranges::random_access_range<Range> && std::ranges::sized_range<Range>;

/// A type of numbers, which excludes bool and characters.
template <class T>
concept number = std::integral<T> && requires(T value) {
    std::cmp_less(value, value);
};

/// Converts a bound of a loop. Throws hmm::error for a number that the type of
/// the indexes does not have, as -1 in a loop from -1 to v.size().
template <std::integral Index, std::integral Bound>
Index bound(Bound value) {
    if (!std::in_range<Index>(value))
        throw error(hmmErrorInvalidValue, "parallel_for",
                    "loop bound is out of range for the index type", {});
    return static_cast<Index>(value);
}

template <class Function>
void run_items(Function& function, std::uint64_t begin, std::uint64_t end) {
    if constexpr (std::is_trivially_copyable_v<Function>) {
        // Stores in the loop cannot alias this local copy, so captures stay in
        // registers.
        Function local = function;
        for (std::uint64_t i = begin; i < end; i++)
            local(static_cast<std::size_t>(i));
    } else {
        for (std::uint64_t i = begin; i < end; i++)
            function(static_cast<std::size_t>(i));
    }
}

template <class Function>
void run_range(void* closure, std::uint64_t begin, std::uint64_t end) noexcept {
    std::exception_ptr left;
    try {
        run_items(*static_cast<Function*>(closure), begin, end);
    } catch (...) {
        left = std::current_exception();
    }
    if (left) hmmEndLaunchByException(&left);
}

/// True if hmmClosureAllocate() aligns memory sufficiently for the closure.
template <class Function>
inline constexpr bool closure_fits = alignof(Function) <= 64;

template <class Function>
void release(void* memory) noexcept {
    if constexpr (closure_fits<Function>)
        hmmClosureFree(memory);
    else
        ::operator delete(memory, std::align_val_t(alignof(Function)));
}

template <class Function>
void destroy(void* closure) {
    static_cast<Function*>(closure)->~Function();
    release<Function>(closure);
}

template <class Function>
struct closure_deleter {
    void operator()(Function* function) const noexcept { destroy<Function>(function); }
};

template <class Function>
using closure_pointer = std::unique_ptr<Function, closure_deleter<Function>>;

template <class Function, class... Arguments>
closure_pointer<Function> make_closure(Arguments&&... arguments) {
    void* memory;
    if constexpr (closure_fits<Function>)
        memory = hmmClosureAllocate(sizeof(Function));
    else
        memory = ::operator new(sizeof(Function), std::align_val_t(alignof(Function)));
    if (memory == nullptr) throw std::bad_alloc();
    try {
        return closure_pointer<Function>(new (memory)
                                             Function{std::forward<Arguments>(arguments)...});
    } catch (...) {
        release<Function>(memory);
        throw;
    }
}

template <class Function>
void launch_range(stream_ref in, std::uint64_t items, closure_pointer<Function> function) {
    check(hmmLaunchRange(&run_range<Function>, function.get(), items, &destroy<Function>, in.get()),
          "launch");
    static_cast<void>(function.release());
}

/// Returns the number of threads of a grid. Throws hmm::error for a grid that
/// hmmLaunchKernel() would reject.
inline std::uint64_t grid_items(const dim3& grid, const dim3& block) {
    std::uint64_t items = 1;
    for (const std::uint64_t size : {grid.x, grid.y, grid.z, block.x, block.y, block.z})
        if (size == 0 || __builtin_mul_overflow(items, size, &items))
            throw error(hmmErrorInvalidConfiguration, "launch",
                        hmmGetErrorString(hmmErrorInvalidConfiguration), {});
    return items;
}

/// Calls function(thread_index) for the items of a grid.
template <class Function>
struct grid_function {
    dim3 grid, block;
    Function function;

    void operator()(std::size_t item) {
        const std::uint64_t thread = item % block.count();
        const std::uint64_t number = item / block.count();
        function(thread_index{split(thread, block), split(number, grid), block, grid});
    }

    static constexpr dim3 split(std::uint64_t item, const dim3& size) noexcept {
        return {static_cast<std::uint32_t>(item % size.x),
                static_cast<std::uint32_t>(item / size.x % size.y),
                static_cast<std::uint32_t>(item / size.x / size.y)};
    }
};

} // namespace detail

/// Queues f(i) for all i in [0, n) in a stream of the current device.
template <detail::kernel<std::size_t> Function>
void launch(stream_ref in, std::size_t n, Function&& f) {
    using function = std::decay_t<Function>;
    detail::launch_range(in, n, detail::make_closure<function>(std::forward<Function>(f)));
}

/// Queues f(thread_index) for all threads of all blocks in a stream of the
/// current device. hmmErrorInvalidConfiguration if a dimension is 0 or the grid
/// has 2^64 or more threads.
template <detail::kernel<const thread_index&> Function>
void launch(stream_ref in, dim3 grid, dim3 block, Function&& f) {
    using function = detail::grid_function<std::decay_t<Function>>;
    const std::uint64_t items = detail::grid_items(grid, block);
    detail::launch_range(in, items,
                         detail::make_closure<function>(grid, block, std::forward<Function>(f)));
}

/// Launches in the default stream.
template <detail::kernel<std::size_t> Function>
void launch(std::size_t n, Function&& f) {
    launch(default_stream, n, std::forward<Function>(f));
}

template <detail::kernel<const thread_index&> Function>
void launch(dim3 grid, dim3 block, Function&& f) {
    launch(default_stream, grid, block, std::forward<Function>(f));
}

/// Launches in the default stream of the given device. Templates, so that {4}
/// does not convert to a device: it may be meant as a dim3.
template <std::same_as<device> Device, detail::kernel<std::size_t> Function>
void launch(Device where, std::size_t n, Function&& f) {
    const scoped_device use(where);
    launch(n, std::forward<Function>(f));
}

template <std::same_as<device> Device, detail::kernel<const thread_index&> Function>
void launch(Device where, dim3 grid, dim3 block, Function&& f) {
    const scoped_device use(where);
    launch(grid, block, std::forward<Function>(f));
}

/// Calls f(i) for all i in [begin, end) in a stream. Returns when the work of
/// the stream is done.
template <std::integral Index, detail::kernel<Index> Function>
void parallel_for(stream_ref in, Index begin, Index end, Function&& f) {
    if (!(begin < end)) return;
    launch(in, static_cast<std::size_t>(end) - static_cast<std::size_t>(begin),
           [begin, function = std::forward<Function>(f)](std::size_t i) mutable {
               function(static_cast<Index>(begin + static_cast<Index>(i)));
           });
    in.synchronize();
}

/// As above, for bounds of different types, as in parallel_for(0, v.size(), f).
/// The indexes have the type to which both convert in an expression.
template <detail::number Begin, detail::number End,
          detail::kernel<std::common_type_t<Begin, End>> Function>
requires(!std::same_as<Begin, End>) void parallel_for(stream_ref in, Begin begin, End end,
                                                      Function&& f) {
    using index = std::common_type_t<Begin, End>;
    if (!std::cmp_less(begin, end)) return;
    parallel_for(in, detail::bound<index>(begin), detail::bound<index>(end),
                 std::forward<Function>(f));
}

/// Calls f(element) for all elements of a range in a stream. Returns when the
/// work of the stream is done.
template <detail::indexed_range Range,
          detail::kernel<std::ranges::range_reference_t<Range>> Function>
void parallel_for(stream_ref in, Range&& range, Function&& f) {
    using difference = std::ranges::range_difference_t<Range>;
    launch(in, static_cast<std::size_t>(std::ranges::size(range)),
           [first = std::ranges::begin(range), function = std::forward<Function>(f)](
               std::size_t i) mutable { function(first[static_cast<difference>(i)]); });
    in.synchronize();
}

/// Runs in the default stream.
template <std::integral Index, detail::kernel<Index> Function>
void parallel_for(Index begin, Index end, Function&& f) {
    parallel_for(default_stream, begin, end, std::forward<Function>(f));
}

template <detail::number Begin, detail::number End,
          detail::kernel<std::common_type_t<Begin, End>> Function>
requires(!std::same_as<Begin, End>) void parallel_for(Begin begin, End end, Function&& f) {
    parallel_for(default_stream, begin, end, std::forward<Function>(f));
}

template <detail::indexed_range Range,
          detail::kernel<std::ranges::range_reference_t<Range>> Function>
void parallel_for(Range&& range, Function&& f) {
    parallel_for(default_stream, std::forward<Range>(range), std::forward<Function>(f));
}

/// If @strict is true, kernels that make a system call from now on fail with
/// hmmErrorSystemCall.
inline void set_strict(bool strict) {
    check(hmmSetStrict(strict ? 1 : 0), "set_strict");
}

} // namespace hmm
