/* The shadows of global memory in one launch, page by page, and which of its bytes the launch touched and how. */
#ifndef KPT_RACE_PAGES_H
#define KPT_RACE_PAGES_H

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "race_shadow.h"
#include "stretches.h"

namespace kpt {

const uint32_t SHADOW_PAGE = 4096;
enum class UseKind : uint8_t;

/* One page: a bit for each 64 bytes, and for each word where something else was touched. */
struct RacePage {
    static const uint32_t KINDS = 3, BLOCKS = SHADOW_PAGE / 64, WORDS = SHADOW_PAGE / 4;

    Shadow shadow{SHADOW_PAGE, Shadow::BLOCK};
    uint64_t blocks[KINDS] = {};
    std::unique_ptr<std::array<uint64_t, WORDS / 64>> words[KINDS];

    /* False: not whole words, and nothing was noted. */
    bool touch(UseKind kind, uint32_t offset, uint32_t bytes);
    /* What was touched so, behind what is in the list. `at`: the page's address. */
    void add_touched(UseKind kind, uint64_t at, std::vector<Stretch> &list) const;
};

class RacePages {
public:
    RacePage &page(uint64_t address) {
        const uint64_t number = address / REGION;
        Recent &quick = recent_[number % RECENT];
        if (quick.number != number) quick = {number, &region(number)};
        std::unique_ptr<RacePage> &page = (*quick.region)[address % REGION / SHADOW_PAGE];
        if (!page) page = std::make_unique<RacePage>();
        return *page;
    }
    void add_touched(UseKind kind, std::vector<Stretch> &list) const;

private:
    static const uint64_t PAGES = 512, REGION = PAGES * SHADOW_PAGE, RECENT = 16;
    using Region = std::array<std::unique_ptr<RacePage>, PAGES>;
    struct Recent {
        uint64_t number = ~0ull;
        Region *region = nullptr;
    };

    Region &region(uint64_t number) {
        std::unique_ptr<Region> &one = regions_[number];
        if (!one) one = std::make_unique<Region>();
        return *one;
    }

    std::map<uint64_t, std::unique_ptr<Region>> regions_;
    Recent recent_[RECENT];
};

} // namespace kpt
#endif
