/* What the race detector remembers of memory: for every word, or every byte where something smaller was touched, who
 * wrote it last and who read it last. */
#ifndef KPT_RACE_SHADOW_H
#define KPT_RACE_SHADOW_H

#include <cstdint>
#include <vector>

namespace kpt {

/* Who: a wave between two points of order. Its number is kept in a cell, above the six bits of the lane. */
struct Moment {
    uint32_t group = ~0u; /* order number of the workgroup */
    uint32_t epoch = 0;
    uint32_t stamp = 0; /* atomics in the launch before it */
    uint16_t wave = 0;
    bool atomic = false;
};

const uint32_t NOBODY = 0, LANE_BITS = 6, MOST_MOMENTS = 1u << (32 - LANE_BITS);

inline uint32_t moment_of(uint32_t cell) { return cell >> LANE_BITS; }
inline uint32_t lane_of(uint32_t cell) { return cell & ((1u << LANE_BITS) - 1); }

/* A stretch of memory. Whole words are the rule, so there is one cell for each until something else is touched. */
class Shadow {
public:
    explicit Shadow(uint32_t bytes) : bytes_(bytes), writers_(bytes / 4 + 1), readers_(bytes / 4 + 1) {}

    uint32_t bytes() const { return bytes_; }
    /* Bytes to a cell. */
    uint32_t step() const { return fine_ ? 1 : 4; }
    uint32_t *writers() { return writers_.data(); }
    uint32_t *readers() { return readers_.data(); }

    /* Makes cells that the bytes from `at` begin and end with. */
    void fit(uint64_t at, uint64_t bytes) {
        if (fine_ || !((at | bytes) & 3)) return;
        fine_ = true;
        refine(writers_);
        refine(readers_);
    }

private:
    static void refine(std::vector<uint32_t> &cells) {
        std::vector<uint32_t> fine(cells.size() * 4);
        for (size_t i = 0; i < fine.size(); i++) fine[i] = cells[i / 4];
        cells.swap(fine);
    }

    uint32_t bytes_;
    bool fine_ = false;
    std::vector<uint32_t> writers_, readers_;
};

} // namespace kpt
#endif
