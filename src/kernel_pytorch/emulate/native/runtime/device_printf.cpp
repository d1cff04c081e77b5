/* printf of a kernel: the format and its arguments arrive as 64-bit words. */
#include <cstdio>
#include <cstring>
#include <string>

#include "hostcall.h"

namespace kpt {
namespace {

struct Words {
    const uint64_t *at, *end;
    bool any() const { return at < end; }
    uint64_t next() { return at < end ? *at++ : 0; }
    /* A string in the message: bytes up to a zero, padded to whole words. */
    std::string text() {
        auto *start = reinterpret_cast<const char *>(at);
        size_t most = size_t(end - at) * 8, length = strnlen(start, most);
        at += length / 8 + 1;
        if (at > end) at = end;
        return std::string(start, length);
    }
};

int one(FILE *stream, const std::string &spec, Words &words) {
    int star[2] = {0, 0};
    int stars = 0;
    for (char c : spec)
        if (c == '*' && stars < 2) star[stars++] = int(words.next());
    auto print = [&](auto value) {
        const char *format = spec.c_str();
        if (stars == 2) return fprintf(stream, format, star[0], star[1], value);
        return stars ? fprintf(stream, format, star[0], value) : fprintf(stream, format, value);
    };
    switch (spec.back()) {
    case 's': {
        std::string text = words.text();
        return print(text.c_str());
    }
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A': {
        uint64_t bits = words.next();
        double value;
        memcpy(&value, &bits, sizeof value);
        return print(value);
    }
    case 'p': return print(reinterpret_cast<void *>(words.next()));
    case 'n': words.next(); return 0;
    default: return print(words.next());
    }
}

} // namespace

int64_t print_message(const uint64_t *start, uint64_t count) {
    if (!count) return -1;
    Words words{start, start + count};
    uint64_t control = words.next();
    if (control > 1) return -1;
    FILE *stream = control ? stderr : stdout;
    std::string format = words.text();
    int64_t printed = 0;
    for (size_t at = 0; at < format.size();) {
        size_t percent = format.find('%', at);
        if (percent == std::string::npos) percent = format.size();
        printed += int64_t(fwrite(format.data() + at, 1, percent - at, stream));
        if (percent == format.size()) break;
        if (percent + 1 < format.size() && format[percent + 1] == '%') {
            fputc('%', stream);
            printed++;
            at = percent + 2;
            continue;
        }
        size_t last = format.find_first_of("diouxXfFeEgGaAcspn", percent + 1);
        if (last == std::string::npos || !words.any()) break;
        int wrote = one(stream, format.substr(percent, last + 1 - percent), words);
        if (wrote < 0) return wrote;
        printed += wrote;
        at = last + 1;
    }
    fflush(stream);
    return printed;
}

} // namespace kpt
