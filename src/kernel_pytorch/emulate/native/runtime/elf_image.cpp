#include "elf_image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "memory.h"

namespace kpt {
namespace {

const uint16_t MACHINE_AMDGPU = 224;
const uint64_t LARGEST_IMAGE = 8ull << 30;
enum { ABS32_LO = 1, ABS32_HI = 2, ABS64 = 3, REL32 = 4, REL64 = 5, ABS32 = 6, RELATIVE64 = 13 };

struct File {
    const std::vector<uint8_t> &bytes;
    Elf64_Ehdr header;

    bool holds(uint64_t offset, uint64_t size) const { return offset <= bytes.size() && size <= bytes.size() - offset; }

    template <class T>
    bool at(uint64_t offset, T &out) const {
        if (!holds(offset, sizeof out)) return false;
        memcpy(&out, bytes.data() + offset, sizeof out);
        return true;
    }

    std::string text(uint64_t offset) const {
        if (offset >= bytes.size()) return "";
        auto *start = reinterpret_cast<const char *>(bytes.data() + offset);
        return std::string(start, strnlen(start, bytes.size() - offset));
    }

    bool segment(unsigned i, Elf64_Phdr &out) const {
        return at(header.e_phoff + uint64_t(i) * header.e_phentsize, out);
    }
    bool section(unsigned i, Elf64_Shdr &out) const {
        return at(header.e_shoff + uint64_t(i) * header.e_shentsize, out);
    }
};

bool read_symbols(const File &file, unsigned type, Image &out) {
    for (unsigned i = 0; i < file.header.e_shnum; i++) {
        Elf64_Shdr table, names;
        if (!file.section(i, table)) return false;
        if (table.sh_type != type || !file.section(table.sh_link, names)) continue;
        for (uint64_t offset = 0; offset + sizeof(Elf64_Sym) <= table.sh_size; offset += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;
            if (!file.at(table.sh_offset + offset, symbol)) return false;
            if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE) continue;
            std::string name = file.text(names.sh_offset + symbol.st_name);
            if (!name.empty()) out.symbols.emplace(name, Symbol{out.base + symbol.st_value, symbol.st_size});
        }
    }
    return true;
}

/* The symbol a relocation names, through the dynamic symbol table of the loaded image. */
bool symbol_value(const File &file, const Image &image, const Elf64_Shdr &dynamic_symbols, uint32_t index,
                  uint64_t &value, std::string &problem) {
    Elf64_Sym symbol;
    if (!file.at(dynamic_symbols.sh_offset + uint64_t(index) * sizeof symbol, symbol)) {
        problem = "a relocation names a symbol that is not there";
        return false;
    }
    if (symbol.st_shndx != SHN_UNDEF) {
        value = image.base + symbol.st_value;
        return true;
    }
    if (ELF64_ST_BIND(symbol.st_info) == STB_WEAK) {
        value = 0;
        return true;
    }
    Elf64_Shdr names;
    std::string name = file.section(dynamic_symbols.sh_link, names) ? file.text(names.sh_offset + symbol.st_name) : "";
    problem = "device symbol " + name + " is used but defined nowhere";
    return false;
}

bool relocate(const File &file, Image &image, std::string &problem) {
    for (unsigned i = 0; i < file.header.e_shnum; i++) {
        Elf64_Shdr table, symbols;
        if (!file.section(i, table) || table.sh_type != SHT_RELA || !(table.sh_flags & SHF_ALLOC)) continue;
        if (!file.section(table.sh_link, symbols)) symbols = {};
        for (uint64_t offset = 0; offset + sizeof(Elf64_Rela) <= table.sh_size; offset += sizeof(Elf64_Rela)) {
            Elf64_Rela entry;
            if (!file.at(table.sh_offset + offset, entry)) return false;
            uint32_t type = uint32_t(ELF64_R_TYPE(entry.r_info)), index = uint32_t(ELF64_R_SYM(entry.r_info));
            uint64_t place = image.base + entry.r_offset, value = 0;
            unsigned wide = type == ABS64 || type == REL64 || type == RELATIVE64 ? 8 : 4;
            if (!image.memory->holds(place) || !image.memory->holds(place + wide - 1)) {
                problem = "a relocation points outside of the image";
                return false;
            }
            if (type == RELATIVE64)
                value = image.base;
            else if (!symbol_value(file, image, symbols, index, value, problem))
                return false;
            value += uint64_t(entry.r_addend);
            if (type == REL32 || type == REL64) value -= place;
            if (type == ABS32_HI) value >>= 32;
            if (type == 0) continue;
            if (type > ABS32 && type != RELATIVE64) {
                problem = "relocation type " + std::to_string(type) + " is not known";
                return false;
            }
            memcpy(reinterpret_cast<void *>(place), &value, wide);
        }
    }
    return true;
}

} // namespace

bool load_image(const std::vector<uint8_t> &bytes, int device, Image &out, std::string &problem) {
    File file{bytes, {}};
    problem = "not a whole AMD code object";
    if (!file.at(0, file.header) || memcmp(file.header.e_ident, ELFMAG, SELFMAG) != 0 ||
        file.header.e_ident[EI_CLASS] != ELFCLASS64 || file.header.e_machine != MACHINE_AMDGPU)
        return false;
    if (file.header.e_type != ET_DYN) {
        problem = "the code object is not linked (ELF type " + std::to_string(file.header.e_type) + ")";
        return false;
    }
    uint64_t end = 0;
    for (unsigned i = 0; i < file.header.e_phnum; i++) {
        Elf64_Phdr segment;
        if (!file.segment(i, segment)) return false;
        if (segment.p_type != PT_LOAD) continue;
        if (!file.holds(segment.p_offset, segment.p_filesz) || segment.p_filesz > segment.p_memsz ||
            segment.p_memsz > LARGEST_IMAGE || segment.p_vaddr > LARGEST_IMAGE)
            return false;
        end = std::max(end, segment.p_vaddr + segment.p_memsz);
    }
    if (!end) return false;
    hipError_t error;
    out.memory = allocate(Kind::image, (end + 4095) / 4096 * 4096, device, 0, error, 4096);
    if (!out.memory) {
        problem = "no memory for the code object's image";
        return false;
    }
    out.base = out.memory->base;
    for (unsigned i = 0; i < file.header.e_phnum; i++) {
        Elf64_Phdr segment;
        file.segment(i, segment);
        if (segment.p_type == PT_LOAD)
            memcpy(reinterpret_cast<void *>(out.base + segment.p_vaddr), bytes.data() + segment.p_offset,
                   segment.p_filesz);
    }
    if (read_symbols(file, SHT_DYNSYM, out) && read_symbols(file, SHT_SYMTAB, out) && relocate(file, out, problem))
        return true;
    release(out.memory->base);
    out.memory = nullptr;
    return false;
}

} // namespace kpt
