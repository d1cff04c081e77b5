/* Where pinned host memory of torch lies. */
#ifndef KPT_TORCH_PINNED_PLACES_H
#define KPT_TORCH_PINNED_PLACES_H

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>

namespace kpt_torch {

struct PinnedPlaces {
    std::mutex mutex;
    std::map<uintptr_t, size_t> places; /* start -> bytes */

    bool hold(const void *data) {
        std::lock_guard<std::mutex> lock(mutex);
        auto after = places.upper_bound(uintptr_t(data));
        if (after == places.begin()) return false;
        auto place = std::prev(after);
        return uintptr_t(data) - place->first < place->second;
    }
};

inline PinnedPlaces &pinned_places() {
    static auto *value = new PinnedPlaces;
    return *value;
}

} // namespace kpt_torch
#endif
