#include "race_pages.h"

namespace kpt {
namespace {

/* Sets the bits from `first` on. */
void set_bits(uint64_t *bits, uint32_t first, uint32_t count) {
    for (uint32_t end = first + count; first < end;) {
        const uint32_t here = first % 64, some = end - first < 64 - here ? end - first : 64 - here;
        bits[first / 64] |= (some == 64 ? ~0ull : (1ull << some) - 1) << here;
        first += some;
    }
}

void add(std::vector<Stretch> &list, uint64_t first, uint64_t end) {
    if (!list.empty() && list.back().end == first)
        list.back().end = end;
    else
        list.push_back({first, end});
}

/* Each run of ones as a stretch; a bit stands for `bytes`. */
void add_runs(std::vector<Stretch> &list, uint64_t bits, uint64_t at, uint64_t bytes) {
    while (bits) {
        const uint32_t first = uint32_t(__builtin_ctzll(bits));
        const uint64_t rest = ~(bits >> first);
        const uint32_t count = rest ? uint32_t(__builtin_ctzll(rest)) : 64;
        add(list, at + first * bytes, at + (first + count) * bytes);
        if (first + count >= 64) return;
        bits &= ~0ull << (first + count);
    }
}

} // namespace

bool RacePage::touch(UseKind kind, uint32_t offset, uint32_t bytes) {
    if ((offset | bytes) & 3) return false;
    if (!((offset | bytes) & 63)) {
        set_bits(&blocks[size_t(kind)], offset / 64, bytes / 64);
        return true;
    }
    auto &bits = words[size_t(kind)];
    if (!bits) bits = std::make_unique<std::array<uint64_t, WORDS / 64>>();
    set_bits(bits->data(), offset / 4, bytes / 4);
    return true;
}

void RacePage::add_touched(UseKind kind, uint64_t at, std::vector<Stretch> &list) const {
    add_runs(list, blocks[size_t(kind)], at, 64);
    if (!words[size_t(kind)]) return;
    for (uint32_t i = 0; i < WORDS / 64; i++) add_runs(list, (*words[size_t(kind)])[i], at + i * 256, 4);
}

void RacePages::add_touched(UseKind kind, std::vector<Stretch> &list) const {
    for (const auto &[number, region] : regions_)
        for (uint64_t i = 0; i < PAGES; i++)
            if ((*region)[i]) (*region)[i]->add_touched(kind, number * REGION + i * SHADOW_PAGE, list);
}

} // namespace kpt
