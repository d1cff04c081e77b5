/* A code object loaded into memory: its segments, relocated, and its symbols. */
#ifndef KPT_ELF_IMAGE_H
#define KPT_ELF_IMAGE_H

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace kpt {

struct Allocation;

struct Symbol {
    uint64_t address, bytes;
};

struct Image {
    Allocation *memory = nullptr;
    uint64_t base = 0; /* address of virtual address 0 of the file */
    std::unordered_map<std::string, Symbol> symbols;
};

/* False with the reason in `problem` for anything that is not a sound AMD code object. */
bool load_image(const std::vector<uint8_t> &file, int device, Image &out, std::string &problem);

} // namespace kpt
#endif
