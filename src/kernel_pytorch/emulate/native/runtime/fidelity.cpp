/* What the line on fidelity needs: the mnemonics of the kernels that ran, the inexact ones that were executed, and the
 * calls of libraries that stand-ins answered. */
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>

#include "errors.h"
#include "json.h"
#include "report.h"

namespace kpt {
namespace {

struct Noted {
    std::mutex mutex;
    std::set<const char *> kernels; /* by their list of mnemonics */
    std::set<std::string> mnemonics, inexact;
    std::map<std::string, uint64_t> calls;
};

Noted &noted() {
    static Noted *value = new Noted;
    return *value;
}

} // namespace

void note_fidelity(const KptKernel &kernel) {
    if (!reporting()) return;
    Noted &n = noted();
    std::lock_guard<std::mutex> lock(n.mutex);
    if (kernel.mnemonics && n.kernels.insert(kernel.mnemonics).second) {
        std::istringstream words(kernel.mnemonics);
        for (std::string word; words >> word;) n.mnemonics.insert(word);
    }
    for (uint32_t i = 0; i < kernel.inexact_count; i++)
        if (*kernel.inexact[i].ran) n.inexact.insert(kernel.inexact[i].mnemonic);
}

void report_fidelity() {
    Noted &n = noted();
    std::lock_guard<std::mutex> lock(n.mutex);
    std::string line = "{\"event\":\"fidelity\",\"mnemonics\":" + std::to_string(n.mnemonics.size()) + ",\"inexact\":[";
    for (const std::string &one : n.inexact) line += (line.back() == '[' ? "" : ",") + quoted(one);
    line += "],\"calls\":{";
    for (const auto &one : n.calls)
        line += (line.back() == '{' ? "" : ",") + quoted(one.first) + ":" + std::to_string(one.second);
    report_line(line + "}}");
}

} // namespace kpt

/* The stand-ins of libraries call this for each computation they do. */
KPT_API void kptLibraryCall(const char *function) {
    kpt::Noted &n = kpt::noted();
    std::lock_guard<std::mutex> lock(n.mutex);
    n.calls[function]++;
}
