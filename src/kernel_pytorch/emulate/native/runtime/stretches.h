/* Sets of bytes as lists of stretches. */
#ifndef KPT_STRETCHES_H
#define KPT_STRETCHES_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kpt {

/* Bytes from `first` to before `end`. */
struct Stretch {
    uint64_t first, end;
};

/* Sorted, and none touches another: what the functions below expect. */
inline std::vector<Stretch> merged(std::vector<Stretch> list) {
    auto by_place = [](const Stretch &a, const Stretch &b) { return a.first < b.first; };
    if (!std::is_sorted(list.begin(), list.end(), by_place)) std::sort(list.begin(), list.end(), by_place);
    std::vector<Stretch> out;
    for (const Stretch &one : list) {
        if (one.first == one.end) continue;
        if (!out.empty() && one.first <= out.back().end)
            out.back().end = std::max(out.back().end, one.end);
        else
            out.push_back(one);
    }
    return out;
}

inline bool overlap(const std::vector<Stretch> &a, const std::vector<Stretch> &b) {
    for (size_t i = 0, k = 0; i < a.size() && k < b.size();) {
        if (a[i].first < b[k].end && b[k].first < a[i].end) return true;
        a[i].end < b[k].end ? i++ : k++;
    }
    return false;
}

inline bool covers(const std::vector<Stretch> &all, const std::vector<Stretch> &part) {
    size_t i = 0;
    for (const Stretch &one : part) {
        while (i < all.size() && all[i].end < one.end) i++;
        if (i == all.size() || all[i].first > one.first) return false;
    }
    return true;
}

} // namespace kpt
#endif
