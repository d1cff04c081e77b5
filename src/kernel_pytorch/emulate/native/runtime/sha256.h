#ifndef KPT_SHA256_H
#define KPT_SHA256_H

#include <cstddef>
#include <string>

namespace kpt {
std::string sha256_hex(const void *data, size_t bytes);
}
#endif
