#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "child.h"
#include "config.h"
#include "memory.h"
#include "module.h"
#include "sha256.h"

namespace kpt {
namespace {

std::string build_word() {
    const Config &c = config();
    std::string word;
    auto add = [&word](bool on, const char *name) {
        if (on) word += (word.empty() ? "" : "-") + std::string(name);
    };
    add(c.checked, "checked");
    add(c.counted, "counted");
    add(c.debug, "debug");
    add(c.quick, "quick");
    add(c.waits, "waits");
    return word.empty() ? "plain" : word;
}

bool exists(const std::string &path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

/* Only `kernel`, unless that is empty. */
bool make(const ihipModule_t &module, const std::string &path, const std::string &kernel, std::string &problem) {
    const Config &c = config();
    if (c.translate.empty()) {
        problem = "no translation of this code object is in the cache and KPT_EMULATE_TRANSLATE names no translator";
        return false;
    }
    char name[] = "/tmp/kpt-code-object-XXXXXX";
    int file = mkstemp(name);
    if (file < 0) {
        problem = std::string("no temporary file: ") + strerror(errno);
        return false;
    }
    size_t at = 0;
    while (at < module.code_object.size()) {
        ssize_t wrote = write(file, module.code_object.data() + at, module.code_object.size() - at);
        if (wrote <= 0) break;
        at += size_t(wrote);
    }
    close(file);
    std::vector<std::string> words = words_of(c.translate);
    words.insert(words.end(), {name, path, build_word()});
    if (!kernel.empty()) words.push_back(kernel);
    bool good = at == module.code_object.size() && run_child(words, "the translator", "", problem);
    unlink(name);
    if (good && !exists(path)) {
        problem = "the translator wrote no module";
        return false;
    }
    return good;
}

/* A path of an open file that no earlier call returned: dlopen takes a library that was loaded under the same name for the
 * same one, and the numbers of files are used again. A dot in a path means nothing, so dots can count. */
std::string path_of_its_own(int file) {
    static std::atomic<uint64_t> calls{0};
    std::string path = "/proc/self";
    for (uint64_t left = ++calls; left; left >>= 1) path += left & 1 ? "/." : "/";
    return path + "/fd/" + std::to_string(file);
}

/* A second copy of a library that is loaded already: each image needs a translation of its own. */
void *load_copy(const std::string &path) {
    int from = open(path.c_str(), O_RDONLY | O_CLOEXEC), to = memfd_create("kpt-module", 0);
    char buffer[65536];
    ssize_t got = 0;
    if (from >= 0 && to >= 0)
        while ((got = ::read(from, buffer, sizeof buffer)) > 0)
            if (write(to, buffer, size_t(got)) != got) break;
    if (from >= 0) close(from);
    void *library = nullptr;
    if (to >= 0) {
        library = dlopen(path_of_its_own(to).c_str(), RTLD_NOW | RTLD_LOCAL);
        close(to);
    }
    return library;
}

struct Extent {
    uint64_t base, start = ~0ull, end = 0;
};

int measure(dl_phdr_info *info, size_t, void *data) {
    auto *extent = static_cast<Extent *>(data);
    if (info->dlpi_addr != extent->base) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const auto &segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        extent->start = std::min<uint64_t>(extent->start, info->dlpi_addr + segment.p_vaddr);
        extent->end = std::max<uint64_t>(extent->end, info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
    }
    return 1;
}

/* Constants that are not in the code object's image lie in the translated library: kernels may read them. */
uint64_t make_constants_known(void *library) {
    link_map *map = nullptr;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !map) return 0;
    Extent extent{map->l_addr};
    if (dl_iterate_phdr(measure, &extent) == 0 || extent.start >= extent.end) return 0;
    Allocation *made = adopt(reinterpret_cast<void *>(extent.start), extent.end - extent.start, 0, Kind::internal);
    return made ? made->base : 0;
}

const KptKernel *kernel_named(const KptModule &module, const std::string &name) {
    for (uint32_t i = 0; i < module.kernel_count; i++)
        if (name == module.kernels[i].symbol) return &module.kernels[i];
    return nullptr;
}

bool load(ihipModule_t &module, const std::string &path, std::string &problem) {
    bool loaded_before = false;
    if (void *again = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) {
        dlclose(again);
        loaded_before = true;
    }
    void *library = loaded_before ? load_copy(path) : dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    auto *entry = reinterpret_cast<const KptModule *(*)()>(library ? dlsym(library, "kpt_module") : nullptr);
    if (!entry) {
        const char *why = dlerror();
        problem = path + " cannot be loaded" + (why ? std::string(": ") + why : "");
        return false;
    }
    const KptModule *translated = entry();
    if (translated->abi != KPT_ABI_VERSION) {
        problem = path + " was made by another version of the translator: empty the cache";
        dlclose(library);
        return false;
    }
    if (translated->attach) translated->attach(module.image.base);
    module.translations.push_back({library, translated, make_constants_known(library)});
    return true;
}

} // namespace

const KptKernel *translate(ihipModule_t &module, const std::string &kernel, std::string &problem) {
    for (const Translation &one : module.translations)
        if (const KptKernel *found = kernel_named(*one.kernels, kernel)) return found;
    const Config &c = config();
    if (c.cache.empty()) {
        problem = "KPT_EMULATE_CACHE is not set: start the program with `kpt emulate`";
        return nullptr;
    }
    if (module.digest.empty()) module.digest = sha256_hex(module.code_object.data(), module.code_object.size());
    std::string stem = c.cache + "/" + module.digest + "-" + c.target + "-" + build_word();
    std::string path = stem + ".so", only;
    /* A library's code object has thousands of kernels, of which a program launches a few: those are translated one by
     * one, unless all of them are there already. */
    if (!exists(path)) {
        only = kernel;
        path =
            stem + "-" + sha256_hex(reinterpret_cast<const uint8_t *>(only.data()), only.size()).substr(0, 24) + ".so";
    }
    if (!exists(path) && !make(module, path, only, problem)) return nullptr;
    if (!load(module, path, problem)) return nullptr;
    const KptKernel *found = kernel_named(*module.translations.back().kernels, kernel);
    if (!found) problem = path + " does not have it";
    return found;
}

} // namespace kpt
