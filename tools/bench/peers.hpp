// SPDX-License-Identifier: MIT
/*
 * Compares how a device moves pages with the other ways that the kernel or a program has to move
 * them, and with the upper limit, memcpy().
 */
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bench {

/// This machine doesn't support the peer. The text says why.
class not_possible : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Something that can be measured repeatedly.
class peer {
  public:
    virtual ~peer() = default;

    /// Returns the time of one measurement, in seconds.
    virtual double measure() = 0;
    /// Returns the number of pages, or launches, of one measurement.
    virtual std::size_t operations() const = 0;
};

/// Makes a peer of hmmctl::bench_peers(). Throws not_possible.
std::unique_ptr<peer> make_peer(std::string_view name, std::size_t pages);

// Peers from other files, for make_peer().
std::unique_ptr<peer> make_userfaultfd_copy(std::size_t pages);
std::unique_ptr<peer> make_userfaultfd_move(std::size_t pages);
std::unique_ptr<peer> make_move_pages(std::size_t pages);
std::unique_ptr<peer> make_test_hmm(std::string_view name, std::size_t pages);

} // namespace bench
