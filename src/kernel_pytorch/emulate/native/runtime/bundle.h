/* Picks a code object out of what a program carries: an ELF file or a clang offload bundle, compressed or not. */
#ifndef KPT_BUNDLE_H
#define KPT_BUNDLE_H

#include <cstdint>
#include <string>
#include <vector>

namespace kpt {

/* The code object for `target` ("gfx942"). `bytes` may be 0 where the size is not known (a fat binary inside the
 * program). False with the reason in `problem`; `no_binary` says that only the target is missing. */
bool pick_code_object(const void *data, size_t bytes, const std::string &target, std::vector<uint8_t> &out,
                      std::string &problem, bool &no_binary);

} // namespace kpt
#endif
