// What one collective does once every rank has handed in its call.
#pragma once

#include <cstring>
#include <vector>

#include "../common/typed.h"

namespace kpt {

enum : int { Sum = 0, Product = 1, Max = 2, Min = 3, Average = 4 };
enum class Kind { AllReduce, Broadcast, Reduce, AllGather, ReduceScatter, Send, Receive, AllToAll, Gather, Scatter };

struct Call {
    Kind kind;
    const void *send;
    void *receive;
    size_t count;
    int type, op, peer; // peer: root or partner
    void *stream;
};

inline int type_of(int type) { // ncclDataType_t to hipDataType
    static const int types[] = {R8I, R8U, R32I, R32U, R64I, R64U, R16F, R32F, R64F, R16BF, R8F, R8BF};
    return type >= 0 && type < 12 ? types[type] : -1;
}

template <class T> T combine(int op, T a, T b) {
    switch (op) {
    case Product: return static_cast<T>(a * b);
    case Max: return a > b ? a : b;
    case Min: return a < b ? a : b;
    default: return static_cast<T>(a + b);
    }
}

// The reduction of one element over all ranks; 64-bit integers must not go through floating point.
inline void reduce_into(const std::vector<const void *> &from, size_t from_index, void *to, size_t to_index, int type,
                        int op) {
    const auto reduce = [&](auto zero) {
        using W = decltype(zero);
        W value = load<W>(type, from[0], static_cast<Int>(from_index));
        for (size_t r = 1; r < from.size(); ++r)
            value = combine(op, value, load<W>(type, from[r], static_cast<Int>(from_index)));
        if (op == Average) value = static_cast<W>(value / static_cast<W>(from.size()));
        store(type, to, static_cast<Int>(to_index), value);
    };
    if (type == R64I || type == R32I || type == R8I)
        reduce(int64_t());
    else if (type == R64U || type == R32U || type == R8U)
        reduce(uint64_t());
    else if (type == R64F)
        reduce(double());
    else
        reduce(float());
}

inline void copy(void *to, const void *from, size_t bytes) {
    if (to != from && bytes) std::memmove(to, from, bytes);
}

// `calls[r]` is what rank r asked for. Results are staged, because a rank may send from where another one receives.
inline void perform(const std::vector<Call> &calls) {
    const Call &first = calls[0];
    const int type = type_of(first.type);
    const size_t bytes = static_cast<size_t>(size_of_type(type)), n = first.count, part = n * bytes;
    const int ranks = static_cast<int>(calls.size());
    std::vector<const void *> from;
    for (const Call &call : calls) from.push_back(call.send);
    const auto at = [&](const void *base, size_t index) { return static_cast<const char *>(base) + index * part; };
    switch (first.kind) {
    case Kind::AllReduce:
    case Kind::Reduce: {
        std::vector<char> result(part);
        for (size_t i = 0; i < n; ++i) reduce_into(from, i, result.data(), i, type, first.op);
        for (int r = 0; r < ranks; ++r)
            if (first.kind == Kind::AllReduce || r == first.peer) copy(calls[r].receive, result.data(), part);
        break;
    }
    case Kind::ReduceScatter: {
        std::vector<char> result(part * ranks);
        for (size_t i = 0; i < n * ranks; ++i) reduce_into(from, i, result.data(), i, type, first.op);
        for (int r = 0; r < ranks; ++r) copy(calls[r].receive, at(result.data(), r), part);
        break;
    }
    case Kind::Broadcast: {
        const std::vector<char> value(static_cast<const char *>(from[first.peer]),
                                      static_cast<const char *>(from[first.peer]) + part);
        for (int r = 0; r < ranks; ++r) copy(calls[r].receive, value.data(), part);
        break;
    }
    case Kind::AllGather:
    case Kind::Gather: {
        std::vector<char> all(part * ranks);
        for (int r = 0; r < ranks; ++r) copy(all.data() + r * part, from[r], part);
        for (int r = 0; r < ranks; ++r)
            if (first.kind == Kind::AllGather || r == first.peer) copy(calls[r].receive, all.data(), part * ranks);
        break;
    }
    case Kind::Scatter: {
        const std::vector<char> all(static_cast<const char *>(from[first.peer]), at(from[first.peer], ranks));
        for (int r = 0; r < ranks; ++r) copy(calls[r].receive, all.data() + r * part, part);
        break;
    }
    case Kind::AllToAll: {
        std::vector<std::vector<char>> all;
        for (int r = 0; r < ranks; ++r) all.emplace_back(static_cast<const char *>(from[r]), at(from[r], ranks));
        for (int r = 0; r < ranks; ++r)
            for (int s = 0; s < ranks; ++s)
                copy(static_cast<char *>(calls[r].receive) + s * part, all[s].data() + r * part, part);
        break;
    }
    default: break;
    }
}

} // namespace kpt
