// SPDX-License-Identifier: MIT
// Device memory, allocated from chunks as kmod/mem_vram.c does: the pages of a block grow together
// in one chunk at their own index, and once more than half of the chunks are used, parts of blocks
// share chunks.
#pragma once

#include "block.hpp"

#include <cstdint>
#include <list>
#include <vector>

namespace replay {

constexpr int no_chunk = -1;

class device_memory {
  public:
    device_memory(std::uint64_t bytes, std::uint64_t trace_pages);

    const std::vector<chunk>& chunks() const { return chunks_; }
    std::uint64_t pages() const { return chunks_.size() * block_pages; }
    std::uint64_t free_pages() const { return pages() - used_; }
    /// How often memory ran short.
    std::uint32_t shortages() const { return shortages_; }
    bool has(std::uint64_t page) const { return chunk_of_[page] != no_chunk; }
    int chunk_of(std::uint64_t page) const { return chunk_of_[page]; }
    /// The @given of the next allocation.
    std::uint64_t next_given() const { return given_; }

    /// Allocates pages of a block, all or as many as there are, as hmmrt_vram_alloc(). Returns
    /// those that got memory. @near is the chunk of neighbours, @reserved one that this may use.
    page_set take(std::uint64_t block, const page_set& wanted, int near, int reserved,
                  std::uint64_t now);
    void free(std::uint64_t page);
    void reserve(int number, bool reserved);
    /// The chunk was found used.
    void note_use(int number, std::uint64_t now);

  private:
    enum list_name { free_list, partial_list, full_list, no_list };
    struct place {
        list_name list = free_list;
        std::list<int>::iterator at;
    };
    struct run {
        std::uint64_t page; ///< of the trace
        unsigned index;     ///< in the chunk
        unsigned count;
    };

    void relist(int number);
    bool take_at(int number, int reserved, const run& wanted, std::uint64_t now);
    int take_first_hole(int number, int reserved, run& wanted, std::uint64_t now);
    unsigned fit(const chunk& in, const run& wanted) const;
    int take_partial(run& wanted, std::uint64_t now);
    int take_run(run& wanted, int near, int reserved, std::uint64_t now);

    std::vector<chunk> chunks_;
    std::vector<place> places_;
    std::list<int> lists_[no_list];
    std::vector<int> chunk_of_;           ///< by page of the trace
    std::vector<std::uint16_t> index_of_; ///< in that chunk
    std::uint64_t used_ = 0, given_ = 1, uses_ = 1;
    std::uint32_t shortages_ = 0;
};

} // namespace replay
