/* What functions of the API answer that are not emulated. */
#include <mutex>
#include <set>
#include <string>

#include "config.h"
#include "errors.h"
#include "json.h"
#include "report.h"

using namespace kpt;

/* Called by the generated functions, one for each name of symbols.txt that nothing else defines. */
extern "C" __attribute__((visibility("hidden"))) int kpt_not_supported(const char *name) {
    static std::mutex mutex;
    static std::set<std::string> *reported = new std::set<std::string>;
    std::lock_guard<std::mutex> lock(mutex);
    if (reported->insert(name).second) {
        say("%s is not emulated: it returns hipErrorNotSupported", name);
        report_line("{\"event\":\"unsupported\",\"function\":" + quoted(name) + "}");
    }
    return done(hipErrorNotSupported);
}
