#include "bundle.h"

#include <dlfcn.h>
#include <elf.h>

#include <cstring>

namespace kpt {
namespace {

const char MAGIC[] = "__CLANG_OFFLOAD_BUNDLE__";
const size_t MAGIC_BYTES = 24;
const uint64_t LARGEST = 4ull << 30;

template <class T>
T read(const uint8_t *at) {
    T value;
    memcpy(&value, at, sizeof value);
    return value;
}

size_t elf_size(const uint8_t *data, size_t known) {
    auto header = read<Elf64_Ehdr>(data);
    size_t end = header.e_shoff + size_t(header.e_shentsize) * header.e_shnum;
    return known ? known : end;
}

bool inflate(int method, const uint8_t *from, size_t bytes, std::vector<uint8_t> &out, std::string &problem) {
    if (method == 0) {
        void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
        auto *call = reinterpret_cast<int (*)(uint8_t *, unsigned long *, const uint8_t *, unsigned long)>(
            library ? dlsym(library, "uncompress") : nullptr);
        if (!call) {
            problem = "its device code is compressed with zlib, and libz.so.1 is not here: install zlib";
            return false;
        }
        unsigned long size = out.size();
        if (call(out.data(), &size, from, bytes) == 0 && size == out.size()) return true;
    } else {
        void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
        auto *call = reinterpret_cast<size_t (*)(void *, size_t, const void *, size_t)>(
            library ? dlsym(library, "ZSTD_decompress") : nullptr);
        auto *frame = reinterpret_cast<size_t (*)(const void *, size_t)>(
            library ? dlsym(library, "ZSTD_findFrameCompressedSize") : nullptr);
        if (!call || !frame) {
            problem = "its device code is compressed with zstd, and libzstd.so.1 is not here: install it, or build "
                      "with --no-offload-compress";
            return false;
        }
        if (call(out.data(), out.size(), from, frame(from, bytes)) == out.size()) return true;
    }
    problem = "its compressed device code is damaged";
    return false;
}

bool uncompressed(const uint8_t *data, size_t known, std::vector<uint8_t> &out, std::string &problem) {
    unsigned version = read<uint16_t>(data + 4), method = read<uint16_t>(data + 6);
    uint64_t total = 0, size = 0, head = 0;
    if (version == 1)
        size = read<uint32_t>(data + 8), head = 20;
    else if (version == 2)
        total = read<uint32_t>(data + 8), size = read<uint32_t>(data + 12), head = 24;
    else if (version == 3)
        total = read<uint64_t>(data + 8), size = read<uint64_t>(data + 16), head = 32;
    if (!head || method > 1 || size > LARGEST || (total && total < head)) {
        problem = "its compressed device code has an unknown form (version " + std::to_string(version) + ")";
        return false;
    }
    size_t packed = total ? total - head : known > head ? known - head : LARGEST;
    out.resize(size);
    return inflate(int(method), data + head, packed, out, problem);
}

/* Whether code for `id` (hipv4-amdgcn-amd-amdhsa--gfx942:xnack-) runs on the target; exact beats generic. */
bool fits(const std::string &id, const std::string &target) {
    size_t at = id.find("gfx");
    if (id.compare(0, 3, "hip") != 0 || at == std::string::npos) return false;
    std::string name = id.substr(at);
    if (name.find("xnack+") != std::string::npos) return false;
    return name.substr(0, name.find(':')) == target;
}

} // namespace

bool pick_code_object(const void *raw, size_t bytes, const std::string &target, std::vector<uint8_t> &out,
                      std::string &problem, bool &no_binary) {
    auto *data = static_cast<const uint8_t *>(raw);
    no_binary = false;
    std::vector<uint8_t> unpacked;
    if ((!bytes || bytes >= 32) && memcmp(data, "CCOB", 4) == 0) {
        if (!uncompressed(data, bytes, unpacked, problem)) return false;
        data = unpacked.data();
        bytes = unpacked.size();
    }
    if ((!bytes || bytes >= sizeof(Elf64_Ehdr)) && memcmp(data, ELFMAG, SELFMAG) == 0) {
        out.assign(data, data + elf_size(data, bytes));
        return true;
    }
    if ((bytes && bytes < MAGIC_BYTES + 8) || memcmp(data, MAGIC, MAGIC_BYTES) != 0) {
        problem = "neither an AMD code object nor a clang offload bundle";
        return false;
    }
    uint64_t count = read<uint64_t>(data + MAGIC_BYTES), at = MAGIC_BYTES + 8;
    std::string seen;
    for (uint64_t i = 0; i < count && i < 1024; i++) {
        if (bytes && at + 24 > bytes) break;
        uint64_t offset = read<uint64_t>(data + at), size = read<uint64_t>(data + at + 8);
        uint64_t name = read<uint64_t>(data + at + 16);
        if (name > 4096 || size > LARGEST || (bytes && (at + 24 + name > bytes || offset + size > bytes))) {
            problem = "its offload bundle is damaged";
            return false;
        }
        std::string id(reinterpret_cast<const char *>(data + at + 24), name);
        at += 24 + name;
        if (size && fits(id, target)) {
            out.assign(data + offset, data + offset + size);
            return true;
        }
        if (id.compare(0, 4, "host") != 0)
            seen += (seen.empty() ? "" : ", ") + id.substr(id.find("gfx") == std::string::npos ? 0 : id.find("gfx"));
    }
    no_binary = true;
    problem = "no device code for " + target + " in it (it has " + (seen.empty() ? "none" : seen) + ")";
    return false;
}

} // namespace kpt
