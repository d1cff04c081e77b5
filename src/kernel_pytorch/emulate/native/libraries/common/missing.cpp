#include "missing.h"

#include <cstdio>

namespace kpt {

int missing(const char *function, bool *reported, int status) {
    if (!*reported)
        std::fprintf(stderr,
                     "kpt emulate: %s is not implemented by the CPU stand-in of its library; it returns status %d\n",
                     function, status);
    *reported = true;
    return status;
}

int unsupported(const char *function, const char *what, int status) {
    std::fprintf(stderr, "kpt emulate: %s: %s is not implemented by the CPU stand-in; it returns status %d\n", function,
                 what, status);
    return status;
}

} // namespace kpt
