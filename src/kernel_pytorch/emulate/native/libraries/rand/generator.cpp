#include "generator.h"

namespace kpt {

void RandomGenerator::prepare(size_t groups) {
    if (!ready_) {
        ready_ = true;
        philox_ = std::make_unique<Philox>(seed);
        twister_.seed(static_cast<uint32_t>(seed ^ (seed >> 32)));
        if (kind == RandomKind::Mt19937) twister_.discard(offset);
        xorwow_.clear(), mrg_.clear();
        position_ = kind == RandomKind::Philox ? offset : offset % random_engines;
    }
    // Only as many engines as are asked for: setting up all of them costs more than most programs draw.
    const size_t needed = std::min(random_engines, static_cast<size_t>(position_) + groups);
    const uint64_t each = offset / random_engines;
    const size_t start = offset % random_engines;
    if (kind == RandomKind::Xorwow && xorwow_.size() < needed) {
        auto all = xorwow_engines(seed, needed, each, start);
        std::copy(xorwow_.begin(), xorwow_.end(), all.begin());
        xorwow_ = std::move(all);
    }
    if (kind == RandomKind::Mrg32k3a && mrg_.size() < needed) {
        auto all = mrg_engines(seed, needed, each, start);
        std::copy(mrg_.begin(), mrg_.end(), all.begin());
        mrg_ = std::move(all);
    }
}

void RandomGenerator::draw(size_t group, uint32_t *in, int count) {
    const size_t engine = static_cast<size_t>(position_ + group) % random_engines;
    for (int i = 0; i < count; ++i) switch (kind) {
        case RandomKind::Philox: in[i] = philox_->at(position_ + group * count + i); break;
        case RandomKind::Xorwow: in[i] = xorwow_[engine].next(); break;
        case RandomKind::Mrg32k3a: in[i] = mrg_[engine].next(); break;
        default: in[i] = static_cast<uint32_t>(twister_());
        }
}

void RandomGenerator::advance(size_t groups, int width) {
    if (kind == RandomKind::Philox)
        position_ += groups * width;
    else
        position_ = (position_ + groups) % random_engines;
}

} // namespace kpt
