/* What the race detector remembers of memory: for every word who wrote it last and who read it last; for every byte where
 * something smaller was touched, and for every 64 bytes as long as all that is touched of a page are whole ones. */
#ifndef KPT_RACE_SHADOW_H
#define KPT_RACE_SHADOW_H

#include <cstdint>
#include <vector>

#include "../engine.h"

namespace kpt {

/* A wave between two points of order. A cell (engine.h) has its number. */
struct Moment {
    uint32_t group = ~0u; /* order number of the workgroup */
    uint32_t epoch = 0;
    uint32_t stamp = 0; /* atomics in the launch before it */
    uint16_t wave = 0;
};

const uint32_t NOBODY = 0, MOST_MOMENTS = ~0u / KPT_CELL_WAVE;

inline uint32_t moment_of(uint32_t cell) { return cell / KPT_CELL_WAVE; }
inline uint32_t lane_of(uint32_t cell) { return cell % KPT_CELL_ATOMIC; }
inline bool is_several(uint32_t cell) { return cell & KPT_CELL_SEVERAL; }
inline bool is_atomic(uint32_t cell) { return cell & KPT_CELL_ATOMIC; }

/* A stretch of memory. A cell stands for 1 << shift() bytes and names the lane of the first. */
class Shadow {
public:
    static const uint32_t BLOCK = 6, WORD = 2, BYTE = 0;

    Shadow() = default;
    Shadow(uint32_t bytes, uint32_t shift) { start(bytes, shift); }
    /* As new. */
    void start(uint32_t bytes, uint32_t shift) {
        bytes_ = bytes;
        shift_ = shift;
        lane_bytes_ = 0;
        writers_.assign((bytes >> shift) + 1, NOBODY);
        readers_.assign((bytes >> shift) + 1, NOBODY);
    }

    uint32_t bytes() const { return bytes_; }
    uint32_t shift() const { return shift_; }
    uint32_t *writers() { return writers_.data(); }
    uint32_t *readers() { return readers_.data(); }

    /* Makes cells that the bytes from `at` begin and end with; `lane_bytes` of them for each lane. In blocks all lanes
     * of the page have as many, so that the lane of each word can be told. */
    void fit(uint64_t at, uint64_t bytes, uint32_t lane_bytes) {
        if (shift_ == BLOCK) {
            if (!lane_bytes_ && lane_bytes >= 4 && !(lane_bytes & (lane_bytes - 1))) lane_bytes_ = lane_bytes;
            if (lane_bytes != lane_bytes_ || ((at | bytes) & 63)) to_words();
        }
        if (shift_ == WORD && ((at | bytes | lane_bytes) & 3)) refine(BYTE, 4);
    }
    void to_words() {
        if (shift_ == BLOCK) refine(WORD, lane_bytes_ ? lane_bytes_ : 4);
    }

private:
    /* Cells for 1 << shift bytes, of which `lane_bytes` belong to one lane. */
    void refine(uint32_t shift, uint32_t lane_bytes) {
        for (std::vector<uint32_t> *cells : {&writers_, &readers_}) {
            std::vector<uint32_t> fine((bytes_ >> shift) + 1);
            for (size_t i = 0; i + 1 < fine.size(); i++) {
                const uint32_t whole = (*cells)[i << shift >> shift_];
                const uint32_t inside = uint32_t((i << shift) & ((1u << shift_) - 1));
                fine[i] = whole == NOBODY ? NOBODY : whole + inside / lane_bytes;
            }
            cells->swap(fine);
        }
        shift_ = shift;
    }

    uint32_t bytes_ = 0, shift_ = WORD, lane_bytes_ = 0;
    std::vector<uint32_t> writers_, readers_;
};

} // namespace kpt
#endif
