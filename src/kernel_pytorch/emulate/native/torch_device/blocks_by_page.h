#ifndef KPT_TORCH_BLOCKS_BY_PAGE_H
#define KPT_TORCH_BLOCKS_BY_PAGE_H

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace kpt_torch {

struct Block;

/* The block whose data starts in a page. Data pointers cannot carry the block itself: c10's raw interface wants the
 * data to be the context. Each block has pages of its own, so that the page finds it. */
class BlocksByPage {
public:
    Block *find(const void *data) const {
        uintptr_t at = uintptr_t(data);
        Leaf *leaf = leaves_[at >> 28 & (LEAVES - 1)].load(std::memory_order_acquire);
        return leaf ? leaf->blocks[at >> 12 & (PAGES - 1)].load(std::memory_order_acquire) : nullptr;
    }
    void set(const void *data, Block *block) {
        uintptr_t at = uintptr_t(data);
        std::atomic<Leaf *> &place = leaves_[at >> 28 & (LEAVES - 1)];
        Leaf *leaf = place.load(std::memory_order_acquire);
        if (!leaf) {
            auto *made = new Leaf();
            if (place.compare_exchange_strong(leaf, made, std::memory_order_acq_rel))
                leaf = made;
            else
                delete made; /* another thread was faster */
        }
        leaf->blocks[at >> 12 & (PAGES - 1)].store(block, std::memory_order_release);
    }

private:
    static constexpr size_t LEAVES = size_t(1) << 19, PAGES = size_t(1) << 16; /* 47 bits of address in all */
    struct Leaf {
        std::atomic<Block *> blocks[PAGES];
    };
    std::atomic<Leaf *> leaves_[LEAVES];
};

} // namespace kpt_torch
#endif
