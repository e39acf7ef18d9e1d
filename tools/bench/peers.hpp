// SPDX-License-Identifier: MIT
/*
 * What a device does with single pages, beside what else a machine can do with them: the kernel's
 * and the program's own ways to move a page, and the limit, memcpy().
 */
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bench {

/// This machine cannot do it. The text says why.
class not_possible : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Something that is measured again and again.
class peer {
  public:
    virtual ~peer() = default;

    /// Returns the seconds of one measurement.
    virtual double measure() = 0;
    /// Returns the pages, or the launches, of one measurement.
    virtual std::size_t operations() const = 0;
};

/// Returns a peer of hmmctl::bench_peers(). Throws not_possible.
std::unique_ptr<peer> make_peer(std::string_view name, std::size_t pages);

// Those that make_peer() finds in other files.
std::unique_ptr<peer> make_userfaultfd_copy(std::size_t pages);
std::unique_ptr<peer> make_userfaultfd_move(std::size_t pages);
std::unique_ptr<peer> make_move_pages(std::size_t pages);
std::unique_ptr<peer> make_test_hmm(std::string_view name, std::size_t pages);

} // namespace bench
